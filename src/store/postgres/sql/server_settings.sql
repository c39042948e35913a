-- What the server is like, and which settings this role and database get.
select current_setting('server_version'),
       current_setting('server_version_num')::integer,
       pg_is_in_recovery(),
       current_setting('server_encoding'),
       current_setting('fsync')::boolean,
       current_setting('full_page_writes')::boolean,
       current_setting('synchronous_commit'),
       current_setting('synchronous_standby_names') <> '',
       (extract(epoch from current_setting('wal_writer_delay')::interval) * 1000)::bigint,
       current_user::text,
       current_database()::text,
       pg_backend_pid()
