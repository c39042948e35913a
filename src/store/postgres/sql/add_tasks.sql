-- Adds tasks with all the fields that they may have: those with unique keys, and restored ones.
with new as (
  select * from unnest({{changed[]}}, {{given[]}}, :tags::text[])
    as c({{changed}}, {{given}}, tags)
)
insert into millrace.tasks (id, {{mutable}}, {{given}}, tags, lease_until, checkpoint, answer)
select id, {{mutable}}, {{given}}, tags::text[], moment, checkpoint, answer from new
