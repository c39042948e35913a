-- Where counters and tasks disagree: queue, state, priority, what is counted, what there is. Reads
-- every row, so it is for looking for damage only.
with counted as (
  select queue, state, priority, sum(n)::bigint as n
    from (select queue, state, priority, count as n from millrace.counts
           union all
          select queue, state, priority, change from millrace.count_changes) c
   where state in ({{live_states}}, {{final_states}})
   group by queue, state, priority
), there as (
  select queue, state, priority, count(*) as n from millrace.tasks group by queue, state, priority
   union all
  select queue, state, priority, count(*) from millrace.finished group by queue, state, priority
)
select queue, state, priority, coalesce(counted.n, 0) as counted, coalesce(there.n, 0) as there
  from counted full join there using (queue, state, priority)
 where coalesce(counted.n, 0) <> coalesce(there.n, 0)
 order by queue, state, priority
 limit {{most_miscounts}}
