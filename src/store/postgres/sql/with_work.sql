-- Queues that have a task which may be taken by now, and which this program can read. What is queued
-- may be, although the clock may have been set back since.
select q.queue from millrace.queues q
 where exists (select from generate_series({{lowest_priority}}, {{highest_priority}}) as p(priority)
                 cross join lateral (select 1 from millrace.tasks t
                                      where t.queue = q.queue and t.priority = p.priority
                                        and t.state in ({{ready_states}}) and t.start <= :now
                                        and (t.more is null or t.more < {{newer_formats}})
                                        and (t.notes is null
                                             or substr(t.notes, 1, 1) < {{newer_formats}})
                                      order by t.start, t.number limit 1) t)
    or exists (select from millrace.tasks t where t.queue = q.queue and t.state = {{queued}}
                  and (t.more is null or t.more < {{newer_formats}})
                  and (t.notes is null or substr(t.notes, 1, 1) < {{newer_formats}}) limit 1)
