-- What should not be: tasks of no queue, ids that two tasks have, tasks in a format that this program
-- cannot read.
with all_tasks as (
  select id, queue, more, notes from millrace.tasks
  union all select id, queue, more, notes from millrace.finished
)
select (select count(*) from all_tasks t
         where not exists (select from millrace.queues q where q.queue = t.queue)) as orphans,
       (select count(*) from (select id from all_tasks group by id having count(*) > 1) twice) as twins,
       (select count(*) from all_tasks
         where more >= {{newer_formats}} or substr(notes, 1, 1) >= {{newer_formats}}) as unreadable
