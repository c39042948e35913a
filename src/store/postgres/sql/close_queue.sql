-- True if no session is putting into this queue with SQL; from now on none will. A statement of its
-- own, before has_tasks.sql, which must see what was put until then.
select pg_try_advisory_xact_lock(hashtext('millrace.queues'), :queue)
