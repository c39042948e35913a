-- Finished tasks whose notes change, or which move to another queue.
with changed as (
  select * from unnest({{changed[]}}) as c({{changed}})
)
update millrace.finished t
   set ({{noted}}) = row ({{c.noted}})
  from changed c where t.id = any(array[c.id])
