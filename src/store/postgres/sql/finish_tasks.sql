-- Tasks that have ended move to the finished ones.
with changed as (
  select * from unnest({{changed[]}}) as c({{changed}})
), ended as (
  delete from millrace.tasks t using changed c where t.id = any(array[c.id])
  returning t.id, {{t.stays}}, t.tags
)
insert into millrace.finished
  (id, {{stays}}, keep_for, tags, {{mutable}}, finished_at, result, checkpoint, answer, class, goes_at)
select e.id, {{e.stays}}, c.own_keep, e.tags, {{c.mutable}}, c.moment, c.result, c.checkpoint, c.answer, c.class, c.goes_at
  from ended e join changed c on c.id = e.id
