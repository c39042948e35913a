-- The same of finished ones.
select r.* from unnest($2::smallint[]) as s(state)
 cross join lateral (select id, number from millrace.finished t
                      where t.queue = $1 and t.state = s.state order by t.number limit $3) r
 order by r.number limit $3
