-- Finished tasks whose notes change, or which move to another queue.
with changed as (
  select * from unnest({{changed[]}}) as c({{changed}})
)
update millrace.finished t
   set queue = c.queue, version = c.version, updated_at = c.updated_at, error_code = c.error_code,
       error_message = c.error_message, notes = c.notes, class = c.class, goes_at = c.goes_at
  from changed c where t.id = any(array[c.id])
