-- Adds tasks with all the fields that they may have: those with unique keys, those that wait for others,
-- and restored ones. The edges to those that wait for them are there by then.
with new as (
  select * from unnest({{changed[]}}, {{given[]}}, :tags::text[])
    as c({{changed}}, {{given}}, tags)
)
insert into millrace.tasks
  (id, {{mutable}}, {{given}}, tags, lease_until, checkpoint, answer, waits, orphaned, children)
select id, {{mutable}}, {{given}}, tags::text[], moment, checkpoint, answer, waits, orphaned,
       (select true from millrace.edges e where e.parent = any(array[new.id]) limit 1)
  from new
