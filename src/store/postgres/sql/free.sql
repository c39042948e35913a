-- Unique keys that are held no longer, or by somebody else from now on.
delete from millrace.holders h using unnest($1::integer[], $2::text[]) as n(queue, key)
 where h.queue = any(array[n.queue]) and h.key = any(array[n.key])
