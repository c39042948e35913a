-- Lets one process at a time bring the tables up to date.
select pg_advisory_xact_lock(hashtext('millrace.'), {{migrating}})
