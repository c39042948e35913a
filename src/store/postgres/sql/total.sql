-- How many tasks a queue has.
select coalesce(sum(n), 0)::bigint
  from (select sum(count) as n from millrace.counts where queue = :queue
         union all
        select sum(change) from millrace.count_changes where queue = :queue) c
