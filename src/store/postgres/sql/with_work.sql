-- Queues that have a task which may be taken by now.
select q.queue from millrace.queues q
 where exists (select from generate_series(0, 9) as p(priority)
                 cross join lateral (select 1 from millrace.tasks t
                                      where t.queue = q.queue and t.priority = p.priority
                                        and t.state in (1, 2, 4) and t.start <= $1
                                      order by t.start, t.number limit 1) t)
