-- Waiting and running tasks by id, locked; sorted, so that two callers cannot deadlock.
select {{row}} from millrace.live_heads where id = any (:ids::uuid[]) order by id for update
