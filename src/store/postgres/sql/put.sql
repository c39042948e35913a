-- Adds tasks, and counts them. Those whose id is there already are left out of the answer, but for
-- those that have ended: take_back.sql comes after it.
--   $1 the version of settings that the caller decided by; with another one nothing is done
--   $2… one element a task   $15 now
with new as (
  select * from unnest($2::uuid[], $3::integer[], $4::smallint[], $5::smallint[], $6::timestamptz[],
                       $7::text[], $8::bytea[], $9::bigint[], $10::timestamptz[], $11::text[],
                       $12::text[], $13::text[], $14::bytea[])
    with ordinality as n(id, queue, state, priority, start, type, payload, keep_for, start_by,
                         client_id, "group", tags, more, place)
   where (select version from millrace.settings) = $1
), added as (
  insert into millrace.tasks (id, queue, state, priority, start, created_at, updated_at, type, payload,
                              keep_for, start_by, client_id, "group", tags, more)
  select id, queue, state, priority, start, $15, $15, type, payload, keep_for, start_by, client_id,
         "group", tags::text[], more
    from new order by place
  on conflict (id) do nothing
  returning number, id, queue, state, priority
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, state, priority, count(*) from added group by queue, state, priority
)
select id, number from added
