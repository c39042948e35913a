-- One task with everything, by id.
select * from millrace.live_rows where id = $1
union all
select * from millrace.final_rows where id = $1
