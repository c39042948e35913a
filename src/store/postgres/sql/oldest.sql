-- For each queue, the ready moment of the task that has been ready for longest.
select q.queue, min(t.start) from unnest(:queues::integer[]) as q(queue)
 cross join generate_series({{lowest_priority}}, {{highest_priority}}) as p(priority)
 cross join lateral (select start from millrace.tasks t
                      where t.queue = q.queue and t.priority = p.priority and t.state in ({{ready_states}})
                        and t.start <= :now
                      order by t.start, t.number limit 1) t
 group by q.queue
