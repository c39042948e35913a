-- Tasks whose moment has come are queued; how many. Those that somebody holds can wait.
with due as (
  select id, state from millrace.tasks where state in (2, 4) and start <= $1
   order by start, number limit $2 for update skip locked
), promoted as (
  update millrace.tasks t set state = 1, version = t.version + 1, updated_at = $1
    from due d where t.id = any(array[d.id])
  returning t.queue, t.priority, d.state as was
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, was, priority, -count(*) from promoted group by queue, was, priority
   union all
  select queue, 1, priority, count(*) from promoted group by queue, priority
)
select count(*) from promoted
