-- Waiting tasks that a put has replaced: all they were put with, as it is now.
with changed as (
  select * from unnest({{changed[]}}, {{given[]}}, :tags::text[])
    as c({{changed}}, {{given}}, tags)
)
update millrace.tasks t
   set ({{mutable}}, {{given}}, tags, lease_until, checkpoint, answer)
       = row ({{c.mutable}}, {{c.given}}, c.tags::text[], c.moment, c.checkpoint, c.answer)
  from changed c where t.id = any(array[c.id])
