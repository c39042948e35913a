-- Whoever brings the tables up to date does so alone.
select pg_advisory_xact_lock(hashtext('millrace.'), -3)
