-- Tasks with everything that there may be to them: unique keys, restored ones.
with new as (
  select * from unnest($1::uuid[], $2::integer[], $3::smallint[], $4::smallint[], $5::boolean[],
                       $6::integer[], $7::integer[], $8::integer[], $9::integer[], $10::integer[],
                       $11::timestamptz[], $12::timestamptz[], $13::timestamptz[],
                       $14::timestamptz[], $15::timestamptz[], $16::timestamptz[], $17::bigint[],
                       $18::text[], $19::bytea[], $20::bytea[], $21::bytea[], $22::bytea[],
                       $23::smallint[], $24::timestamptz[], $25::bigint[], $26::timestamptz[],
                       $27::bigint[], $28::bigint[], $29::smallint[], $30::text[], $31::text[],
                       $32::text[], $33::text[], $34::text[], $35::bytea[], $36::bytea[])
    as c(id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, updated_at, previous_start, started_at, start_by, moment, token, worker,
         error_code, error_message, notes, result, class, goes_at, number, created_at, keep_for,
         unique_window, unique_scope, type, client_id, "group", tags, unique_key, payload, more)
)
insert into millrace.tasks (id, number, created_at, keep_for, unique_window, unique_scope, type,
  client_id, "group", tags, unique_key, payload, more, queue, state, priority, cancel_requested,
  version, deliveries, attempts, retries, lost, start, updated_at, previous_start, started_at,
  start_by, token, worker, error_code, error_message, notes, lease_until)
select id, number, created_at, keep_for, unique_window, unique_scope, type, client_id, "group",
       tags::text[], unique_key, payload, more, queue, state, priority, cancel_requested, version,
       deliveries, attempts, retries, lost, start, updated_at, previous_start, started_at,
       start_by, token, worker, error_code, error_message, notes, moment
  from new
