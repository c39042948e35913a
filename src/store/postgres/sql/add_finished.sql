-- Tasks that had ended elsewhere.
with new as (
  select * from unnest({{changed[]}}, {{given[]}}, :tags::text[])
    as c({{changed}}, {{given}}, tags)
)
insert into millrace.finished
  (id, {{mutable}}, {{given}}, tags, finished_at, result, checkpoint, answer, class, goes_at)
select id, {{mutable}}, {{given}}, tags::text[], moment, result, checkpoint, answer, class, goes_at from new
