-- For each queue, the ready moment of the task that has been ready for longest; not after :now, where
-- the clock was set back. Tasks that only a newer program can read do not count: this one cannot take
-- them.
select q.queue, min(o.start) as start from unnest(:queues::integer[]) as q(queue)
 cross join lateral (
   select t.start
     from generate_series({{lowest_priority}}, {{highest_priority}}) as p(priority)
    cross join lateral (select start from millrace.tasks t
                         where t.queue = q.queue and t.priority = p.priority
                           and t.state in ({{ready_states}}) and t.start <= :now
                           and (t.more is null or t.more < {{newer_formats}})
                           and (t.notes is null or substr(t.notes, 1, 1) < {{newer_formats}})
                         order by t.start, t.number limit 1) t
    union all
   select :now::timestamptz
    where exists (select from millrace.tasks t
                   where t.queue = q.queue and t.state = {{queued}}
                     and (t.more is null or t.more < {{newer_formats}})
                     and (t.notes is null or substr(t.notes, 1, 1) < {{newer_formats}}) limit 1)) o
 group by q.queue
