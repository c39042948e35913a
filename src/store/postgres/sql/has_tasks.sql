-- Whether a queue has any task.
select exists (select from millrace.tasks where queue = $1)
    or exists (select from millrace.finished where queue = $1)
