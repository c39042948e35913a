-- One task with everything, by number; numbers have no index of their own, queues have.
select {{r.row}} from millrace.queues q cross join unnest(array[{{live_states}}]) as s(state)
 cross join lateral (select {{row}} from millrace.live_rows r
                      where r.queue = q.queue and r.state = s.state and r.number = :number) r
union all
select {{r.row}} from millrace.queues q cross join unnest(array[{{final_states}}]) as s(state)
 cross join lateral (select {{row}} from millrace.final_rows r
                      where r.queue = q.queue and r.state = s.state and r.number = :number) r
