-- When the first of a queue's finished tasks ended that ended after a moment.
--   $1 queues   $2 dead letters, or the others   $3 after
select q.place, f.finished_at
  from unnest($1::integer[], $2::boolean[], $3::timestamptz[]) with ordinality
    as q(queue, dead, after, place)
 cross join lateral (select finished_at from millrace.finished f
                      where f.queue = q.queue and (f.state in (6, 7)) = q.dead and f.keep_for is null
                        and f.finished_at > q.after
                      order by f.finished_at, f.number limit 1) f
