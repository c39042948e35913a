-- Who holds these unique keys, locked; and those that the named tasks hold, and where they may move.
select h.queue, h.key, h.task, h.number, h.until
  from (select distinct * from unnest($1::integer[], $2::text[])) as n(queue, key)
  join millrace.holders h on h.queue = any(array[n.queue]) and h.key = any(array[n.key])
 order by h.queue, h.key for update of h
