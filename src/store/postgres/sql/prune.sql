-- Finished tasks of a queue that its rules no longer keep; how many went.
--   $1 queue   $2 dead letters, or the others   $3 so many are too many   $4 those that ended until
--   then are too old   $5 at most   $6 those that ended before that went already
with oldest as (
  select id, finished_at, number from millrace.finished
   where queue = $1 and (state in (6, 7)) = $2 and keep_for is null and finished_at >= $6
   order by finished_at, number limit $5
), due as (
  select id from (select *, row_number() over (order by finished_at, number) as nth from oldest) o
   where nth <= $3 or finished_at <= $4
), gone as (
  delete from millrace.finished f using due d where f.id = any(array[d.id])
  returning f.queue, f.state, f.priority, f.finished_at
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, state, priority, -count(*) from gone group by queue, state, priority
)
select count(*), max(finished_at) from gone
