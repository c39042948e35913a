-- Removes finished tasks whose own rule no longer keeps them, and which have told all that wait for them.
-- Returns how many.
with due as (
  select id from (select id from millrace.finished where goes_at <= :now
                   order by goes_at, number limit :most for update skip locked) f
   where not exists (select from millrace.untold u where u.parent = any(array[f.id]))
), gone as (
  delete from millrace.finished f using due d where f.id = any(array[d.id])
  returning f.queue, f.state, f.priority, f.keep_for
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, state, priority, -count(*) from gone group by queue, state, priority
   union all
  select queue, case when state in ({{dead_letter_states}}) then {{own_dead}} else {{own_finished}} end, 0,
         -count(*) from gone where keep_for is not null group by 1, 2
)
select count(*) from gone
