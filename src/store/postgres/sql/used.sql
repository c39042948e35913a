-- What counts against the limits of these queues: how many wait, how many run, and the rates.
select {{used}} from (
  select q.queue,
         coalesce((select sum(n) from (
           select sum(count) as n from millrace.counts c
            where c.queue = q.queue and state in ({{waiting_states}})
            union all
           select sum(change) from millrace.count_changes c
            where c.queue = q.queue and state in ({{waiting_states}})) s), 0)::bigint as waiting,
         coalesce((select sum(n) from (
           select sum(count) as n from millrace.counts c where c.queue = q.queue and state = {{processing}}
            union all
           select sum(change) from millrace.count_changes c
            where c.queue = q.queue and state = {{processing}}) s),
           0)::bigint as running,
         (select used from millrace.rates r where r.queue = q.queue and r.kind = {{put_rate}}) as puts,
         (select used from millrace.rates r where r.queue = q.queue and r.kind = {{process_rate}}) as takes
    from unnest(:queues::integer[]) as q(queue)) u
