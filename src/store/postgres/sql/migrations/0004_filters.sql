-- Filters of millrace.queue_tasks by a status or a priority alone, without a queue.
--
-- These indexes leave out the common cases: tasks queued for the first time, completed tasks, priority 5.
-- Those are found by their queue and cost nothing more. Tasks that run or wait for their moment have an
-- index already (tasks_leases, tasks_later).

create index tasks_returned on millrace.tasks (number) where state = 1 and attempts > 0;
create index finished_by_status on millrace.finished (state, number) where state <> 5;

-- As the view shows them.
create index tasks_by_priority on millrace.tasks ((priority::integer) desc, number)
  where priority::integer <> 5;
create index finished_by_priority on millrace.finished ((priority::integer) desc, number)
  where priority::integer <> 5;
