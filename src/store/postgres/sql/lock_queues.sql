-- Lets one process at a time decide by how much of a limit is used up, queue by queue and in order.
-- A statement of its own: what it waits for must be over before the next one looks.
select pg_advisory_xact_lock(hashtext('millrace.'), queue) from unnest(:queues::integer[]) as q(queue)
 order by queue
