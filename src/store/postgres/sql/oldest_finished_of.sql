-- The same as oldest_of.sql for finished tasks.
select r.* from unnest(:states::smallint[]) as s(state)
 cross join lateral (select id, number from millrace.finished t
                      where t.queue = :queue and t.state = s.state order by t.number limit :most) r
 order by r.number limit :most
