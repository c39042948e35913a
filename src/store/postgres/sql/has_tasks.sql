-- Whether a queue has any task.
select exists (select from millrace.tasks where queue = :queue)
    or exists (select from millrace.finished where queue = :queue)
