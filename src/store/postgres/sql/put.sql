-- Adds tasks, and counts them. Those whose id is there already are left out of the answer, but for
-- those that have ended: take_back.sql comes after it.
--   :version of the settings that the caller decided by; with another one nothing is done
--   {{plain[]}} one element per task
with new as (
  select * from unnest({{plain[]}}) with ordinality as n({{plain}}, place)
   where (select version from millrace.settings) = :version
), added as (
  insert into millrace.tasks (id, queue, state, priority, start, created_at, updated_at, type, payload,
                              keep_for, start_by, client_id, "group", tags, more)
  select id, queue, state, priority, start, :now, :now, type, payload, keep_for, start_by, client_id,
         "group", tags::text[], more
    from new order by place
  on conflict (id) do nothing
  returning number, id, queue, state, priority
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, state, priority, count(*) from added group by queue, state, priority
)
select id, number from added
