-- Takes back what put.sql has added although the task with that id has ended; the answer has those.
-- It is a statement of its own since put.sql cannot know this: if the task ends meanwhile, the
-- insert waits for that, finds the id free, and does not see tasks that finished since the
-- statement began.
--   :ids   :since, nothing with one of these ids can have ended before that
with twice as (
  select n.id from unnest(:ids::uuid[]) as n(id)
   cross join lateral (select from millrace.finished f
                        where f.id = any(array[n.id]) and f.finished_at >= :since limit 1) f
), gone as (
  delete from millrace.tasks t using twice w where t.id = any(array[w.id])
  returning t.id, t.queue, t.state, t.priority
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, state, priority, -count(*) from gone group by queue, state, priority
)
select id from gone
