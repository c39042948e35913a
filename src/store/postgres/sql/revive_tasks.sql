-- Finished tasks that begin a new life, with what they had done.
with changed as (
  select * from unnest({{changed[]}}) as c({{changed}})
), gone as (
  delete from millrace.finished t using changed c where t.id = any(array[c.id])
  returning t.id, {{t.stays}}, t.tags, t.checkpoint, t.answer
)
insert into millrace.tasks (id, {{stays}}, keep_for, tags, {{mutable}}, lease_until, checkpoint, answer)
select g.id, {{g.stays}}, c.own_keep, g.tags, {{c.mutable}}, c.moment, g.checkpoint, g.answer
  from gone g join changed c on c.id = g.id
