-- Queues tasks whose moment has come. Returns how many. Tasks that another session holds can wait.
with due as (
  select id, state from millrace.tasks where state in ({{later_states}}) and start <= :now
   order by start, number limit :most for update skip locked
), promoted as (
  update millrace.tasks t set state = {{queued}}, version = t.version + 1, updated_at = :now
    from due d where t.id = any(array[d.id])
  returning t.queue, t.priority, d.state as was
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, was, priority, -count(*) from promoted group by queue, was, priority
   union all
  select queue, {{queued}}, priority, count(*) from promoted group by queue, priority
)
select count(*) from promoted
