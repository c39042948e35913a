-- Whether there are any tables yet. Asks the catalog itself: the cached answer of to_regclass() may
-- be older than the lock that the caller waited for.
select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where c.relname = 'migrations' and '"' || n.nspname || '"' = '"millrace"')
