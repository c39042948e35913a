-- Waiting and running tasks as they are now; what was given with the put stays.
with changed as (
  select * from unnest($1::uuid[], $2::integer[], $3::smallint[], $4::smallint[], $5::boolean[],
                       $6::integer[], $7::integer[], $8::integer[], $9::integer[], $10::integer[],
                       $11::timestamptz[], $12::timestamptz[], $13::timestamptz[],
                       $14::timestamptz[], $15::timestamptz[], $16::timestamptz[], $17::bigint[],
                       $18::text[], $19::bytea[], $20::bytea[], $21::bytea[], $22::bytea[],
                       $23::smallint[], $24::timestamptz[])
    as c(id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, updated_at, previous_start, started_at, start_by, moment, token, worker,
         error_code, error_message, notes, result, class, goes_at)
)
update millrace.tasks t
   set queue = c.queue, priority = c.priority, cancel_requested = c.cancel_requested,
       version = c.version, deliveries = c.deliveries, attempts = c.attempts, retries = c.retries,
       lost = c.lost, start = c.start, updated_at = c.updated_at,
       previous_start = c.previous_start, started_at = c.started_at, start_by = c.start_by,
       token = c.token, worker = c.worker, error_code = c.error_code,
       error_message = c.error_message, notes = c.notes, state = c.state, lease_until = c.moment
  from changed c where t.id = any(array[c.id])
