-- One task with everything, by id.
select {{row}} from millrace.live_rows where id = :id
union all
select {{row}} from millrace.final_rows where id = :id
