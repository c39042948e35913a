-- Removes unique keys that are held no longer, or that another task will hold from now on.
delete from millrace.holders h using unnest(:queues::integer[], :keys::text[]) as n(queue, key)
 where h.queue = any(array[n.queue]) and h.key = any(array[n.key])
