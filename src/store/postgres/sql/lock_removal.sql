-- For whoever erases a queue, before it looks whether the queue is empty: waits for all that may be putting
-- into it. A statement of its own: what they put must be seen by has_tasks.sql.
select pg_advisory_xact_lock(hashtext('millrace.'), -4)
