-- Tasks of a queue in these states, oldest first, locked: what is to be removed next.
select {{r.removable}} from unnest(:states::smallint[]) as s(state)
 cross join lateral (select {{removable}} from millrace.tasks t
                      where t.queue = :queue and t.state = s.state order by t.number limit :most) r
 order by r.number limit :most
