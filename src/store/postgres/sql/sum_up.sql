-- Adds up the lines of counters, unless another process does.
with alone as (
  select pg_try_advisory_xact_lock(hashtext('millrace.'), {{summing}}) as mine
), lines as (
  delete from millrace.count_changes
   where ctid = any (array (select ctid from millrace.count_changes limit {{most_lines}}))
     and (select mine from alone)
  returning queue, state, priority, change
)
insert into millrace.counts as c (queue, state, priority, count)
select queue, state, priority, sum(change) from lines group by queue, state, priority
    on conflict (queue, state, priority) do update set count = c.count + excluded.count
