-- When the first of a queue's finished tasks ended that ended after a moment.
--   :queues   :dead letters, or the others   :after this moment
select q.place, f.finished_at
  from unnest(:queues::integer[], :dead::boolean[], :after::timestamptz[]) with ordinality
    as q(queue, dead, after, place)
 cross join lateral (select finished_at from millrace.finished f
                      where f.queue = q.queue and (f.state in ({{dead_letter_states}})) = q.dead
                        and f.keep_for is null and f.finished_at > q.after
                      order by f.finished_at, f.number limit 1) f
