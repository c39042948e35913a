-- The ready moment of the task that has been takeable for longest, a queue.
select q.queue, min(t.start) from unnest($1::integer[]) as q(queue)
 cross join generate_series(0, 9) as p(priority)
 cross join lateral (select start from millrace.tasks t
                      where t.queue = q.queue and t.priority = p.priority and t.state in (1, 2, 4)
                        and t.start <= $2
                      order by t.start, t.number limit 1) t
 group by q.queue
