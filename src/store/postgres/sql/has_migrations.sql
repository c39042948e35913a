-- Whether there is anything yet. Asks the catalog itself: what to_regclass() remembers may be older
-- than the lock that was waited for.
select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where c.relname = 'migrations' and '"' || n.nspname || '"' = '"millrace"')
