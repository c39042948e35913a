-- The same as oldest_of.sql for finished tasks.
select {{r.removable}} from unnest(:states::smallint[]) as s(state)
 cross join lateral (select {{removable}} from millrace.finished t
                      where t.queue = :queue and t.state = s.state order by t.number limit :most) r
 order by r.number limit :most
