-- Waiting and running tasks by id, locked; sorted, so that nobody deadlocks.
select * from millrace.live_heads where id = any ($1::uuid[]) order by id for update
