-- Waiting and running tasks by id, locked, and whether others wait for them; sorted, so that two callers cannot deadlock.
select {{row}}, children from millrace.live_heads where id = any (:ids::uuid[]) order by id for update
