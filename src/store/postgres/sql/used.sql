-- What counts against the limits of these queues: how many wait, how many run, and the rates.
select q.queue,
       coalesce((select sum(n) from (
         select sum(count) as n from millrace.counts c where c.queue = q.queue and state in (0, 1, 2, 4)
          union all
         select sum(change) from millrace.count_changes c
          where c.queue = q.queue and state in (0, 1, 2, 4)) s), 0)::bigint as waiting,
       coalesce((select sum(n) from (
         select sum(count) as n from millrace.counts c where c.queue = q.queue and state = 3
          union all
         select sum(change) from millrace.count_changes c where c.queue = q.queue and state = 3) s),
         0)::bigint as running,
       (select used from millrace.rates r where r.queue = q.queue and r.kind = 0) as puts,
       (select used from millrace.rates r where r.queue = q.queue and r.kind = 1) as takes
  from unnest($1::integer[]) as q(queue)
