-- As find.sql, without payload, result, log and history.
--   $1 ids
select * from millrace.live_heads where id = any($1::uuid[])
union all
select * from millrace.final_heads where id = any($1::uuid[])
