-- What should not be: tasks of no queue, ids that two tasks have.
with all_tasks as (
  select id, queue from millrace.tasks union all select id, queue from millrace.finished
)
select (select count(*) from all_tasks t
         where not exists (select from millrace.queues q where q.queue = t.queue)),
       (select count(*) from (select id from all_tasks group by id having count(*) > 1) twice)
