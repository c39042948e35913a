-- Waiting and running tasks by id, locked; sorted, so that nobody deadlocks.
select {{row}} from millrace.live_heads where id = any (:ids::uuid[]) order by id for update
