-- One process at a time restores tasks: each of two must see what the other one's tasks wait for.
select pg_advisory_xact_lock(hashtext('millrace.'), {{restoring}})
