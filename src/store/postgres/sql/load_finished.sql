-- Finished tasks by id, locked.
select * from millrace.final_heads where id = any ($1::uuid[]) order by id for update
