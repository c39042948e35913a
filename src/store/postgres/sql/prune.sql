-- Finished tasks of a queue that its rules no longer keep, and which have told all that wait for them; how many
-- went.
--   :queue   :dead letters, or the others   :excess, so many are too many   :until, those that ended until
--   then are too old   :most, how many at most   :since, those that ended before that went already
with oldest as (
  select id, finished_at, number from millrace.finished
   where queue = :queue and (state in ({{dead_letter_states}})) = :dead and keep_for is null
     and finished_at >= :since
   order by finished_at, number limit :most
), due as (
  select id from (select *, row_number() over (order by finished_at, number) as nth from oldest) o
   where (nth <= :excess or finished_at <= :until)
     and not exists (select from millrace.untold u where u.parent = any(array[o.id]))
), gone as (
  delete from millrace.finished f using due d where f.id = any(array[d.id])
  returning f.queue, f.state, f.priority, f.finished_at
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, state, priority, -count(*) from gone group by queue, state, priority
)
select count(*) as count, max(finished_at) as last from gone
