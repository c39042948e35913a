-- Whether this process is the one that removes tasks that the rules no longer keep, until it
-- commits. First in its transaction: two processes that had counted the same tasks would remove
-- twice as many.
select pg_try_advisory_xact_lock(hashtext('millrace.'), {{pruning}})
