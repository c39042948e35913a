-- Whether nobody is putting into this queue with SQL; from now on nobody will. A statement of its own,
-- before has_tasks.sql: what was put until then must be seen by that.
select pg_try_advisory_xact_lock(hashtext('millrace.queues'), :queue)
