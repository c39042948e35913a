-- How many tasks these queues have, by state and priority.
select queue, state, priority, sum(n)::bigint as count
  from (select queue, state, priority, count as n from millrace.counts
         where queue = any (:queues::integer[])
         union all
        select queue, state, priority, change from millrace.count_changes
         where queue = any (:queues::integer[])) c
 group by queue, state, priority having sum(n) <> 0
