-- Finished tasks by id, locked.
select {{row}} from millrace.final_heads where id = any (:ids::uuid[]) order by id for update
