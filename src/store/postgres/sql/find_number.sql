-- One task with everything, by number; numbers have no index of their own, queues have.
select r.* from millrace.queues q cross join generate_series(0, 4) as s(state)
 cross join lateral (select * from millrace.live_rows r
                      where r.queue = q.queue and r.state = s.state and r.number = $1) r
union all
select r.* from millrace.queues q cross join generate_series(5, 8) as s(state)
 cross join lateral (select * from millrace.final_rows r
                      where r.queue = q.queue and r.state = s.state and r.number = $1) r
