-- How many queues, live tasks, finished tasks, schedules and memos there are.
select (select count(*) from millrace.queues) as queues,
       (select count(*) from millrace.tasks) as unfinished,
       (select count(*) from millrace.finished) as finished,
       (select count(*) from millrace.schedules) as schedules,
       (select count(*) from millrace.memos) as memos
