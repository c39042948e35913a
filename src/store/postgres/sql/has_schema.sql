-- Whether the schema is there.
select exists (select from pg_namespace where '"' || nspname || '"' = '"millrace"')
