-- Whether anything waits or runs in a queue.
select exists (select from millrace.tasks where queue = :queue)
