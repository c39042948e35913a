-- Adds tasks, and counts them. Those whose id is there already are left out of the answer, but for
-- those that have ended: take_back.sql comes after it. A restored task may wait for one that is put only now.
--   :version of the settings that the caller decided by; with another one nothing is done
--   {{plain[]}} and :tags, one element per task
with new as (
  select * from unnest({{plain[]}}, :tags::text[]) with ordinality as n({{plain}}, tags, place)
   where (select version from millrace.settings) = :version
), added as (
  insert into millrace.tasks ({{plain}}, tags, created_at, updated_at, children)
  select {{plain}}, tags::text[], :now, :now,
         case when (select graphs from millrace.settings)
              then (select true from millrace.edges e where e.parent = any(array[new.id]) limit 1) end
    from new order by place
  on conflict (id) do nothing
  returning number, id, queue, state, priority
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, state, priority, count(*) from added group by queue, state, priority
)
select {{added}} from added
