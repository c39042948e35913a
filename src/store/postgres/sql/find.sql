-- Tasks with everything, by id, in any order.
--   $1 ids
select * from millrace.live_rows where id = any($1::uuid[])
union all
select * from millrace.final_rows where id = any($1::uuid[])
