-- The holders of these unique keys, locked.
select {{h.holder}}
  from (select distinct * from unnest(:queues::integer[], :keys::text[])) as n(queue, key)
  join millrace.holders h on h.queue = any(array[n.queue]) and h.key = any(array[n.key])
 order by h.queue, h.key for update of h
