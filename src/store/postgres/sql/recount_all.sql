-- How many queues, live tasks, finished tasks, schedules and memos there are.
select (select count(*) from millrace.queues),
       (select count(*) from millrace.tasks),
       (select count(*) from millrace.finished),
       (select count(*) from millrace.schedules),
       (select count(*) from millrace.memos)
