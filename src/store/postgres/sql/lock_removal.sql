-- A process that erases a queue runs this before it looks whether the queue is empty: it waits for
-- all sessions that may be putting into it. A statement of its own, since has_tasks.sql must see
-- what they put.
select pg_advisory_xact_lock(hashtext('millrace.'), {{removing_queues}})
