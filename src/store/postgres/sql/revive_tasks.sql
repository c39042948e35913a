-- Finished tasks that begin a new life, with what they had done, and with those that still wait for them.
with changed as (
  select * from unnest({{changed[]}}) as c({{changed}})
), gone as (
  delete from millrace.finished t using changed c where t.id = any(array[c.id])
  returning t.id, {{t.stays}}, t.tags, t.checkpoint, t.answer
)
insert into millrace.tasks
  (id, {{stays}}, keep_for, tags, {{mutable}}, lease_until, checkpoint, answer, children)
select g.id, {{g.stays}}, c.own_keep, g.tags, {{c.mutable}}, c.moment, g.checkpoint, g.answer,
       (select true from millrace.edges e where e.parent = any(array[g.id]) limit 1)
  from gone g join changed c on c.id = g.id
