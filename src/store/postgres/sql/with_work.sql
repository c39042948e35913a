-- Queues that have a task which may be taken by now.
select q.queue from millrace.queues q
 where exists (select from generate_series({{lowest_priority}}, {{highest_priority}}) as p(priority)
                 cross join lateral (select 1 from millrace.tasks t
                                      where t.queue = q.queue and t.priority = p.priority
                                        and t.state in ({{ready_states}}) and t.start <= :now
                                      order by t.start, t.number limit 1) t)
