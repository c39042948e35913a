-- Queues parked tasks whose time has come: how many by queue and priority, and the earliest start.
-- Those that another session holds can wait.
with due as (
  select id from millrace.tasks
   where state = {{created}} and deliveries > 0 and start < 'infinity' and start <= :now
   order by start, number limit :most for update skip locked
), released as (
  update millrace.tasks t set state = {{queued}}, version = t.version + 1, updated_at = :now
    from due d where t.id = any(array[d.id])
  returning t.queue, t.priority, t.start
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, {{created}}, priority, -count(*) from released group by queue, priority
   union all
  select queue, {{queued}}, priority, count(*) from released group by queue, priority
)
select {{released}}
  from (select queue, priority, min(start) as start, count(*) as count from released
         group by queue, priority) r
