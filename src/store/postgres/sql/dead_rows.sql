-- Tables with their dead and live rows, as the server's statistics have them, quoted for SQL.
select quote_ident(s.relname) as name, s.n_dead_tup as dead, s.n_live_tup as live
  from pg_stat_user_tables s join pg_class c on c.oid = s.relid
 where c.relnamespace = (select relnamespace from pg_class where oid = 'millrace.tasks'::regclass)
   and s.n_dead_tup > 0
