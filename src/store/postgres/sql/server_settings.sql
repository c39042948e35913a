-- What the server is like, and which settings this role and database get.
select {{server}} from (
  select current_setting('server_version') as version_text,
         current_setting('server_version_num')::integer as version,
         pg_is_in_recovery() as standby,
         current_setting('server_encoding') as encoding,
         current_setting('fsync')::boolean as fsync,
         current_setting('full_page_writes')::boolean as full_page_writes,
         current_setting('synchronous_commit') as synchronous_commit,
         current_setting('synchronous_standby_names') <> '' as has_standbys,
         (extract(epoch from current_setting('wal_writer_delay')::interval) * 1000)::bigint as wal_writer_delay,
         current_user::text as role,
         current_database()::text as database,
         pg_backend_pid() as pid) s
