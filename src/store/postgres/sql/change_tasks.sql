-- Waiting and running tasks as they are now; what was given with the put stays.
with changed as (
  select * from unnest({{changed[]}}) as c({{changed}})
)
update millrace.tasks t
   set ({{mutable}}, lease_until, checkpoint, answer, waits, orphaned)
       = row ({{c.mutable}}, c.moment, c.checkpoint, c.answer, c.waits, c.orphaned)
  from changed c where t.id = any(array[c.id])
