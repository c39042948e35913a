-- Finished tasks of which something is noted, or which move to another queue.
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
update millrace.finished t
   set queue = c.queue, version = c.version, updated_at = c.updated_at, error_code = c.error_code,
       error_message = c.error_message, notes = c.notes, class = c.class, goes_at = c.goes_at
  from changed c where t.id = any(array[c.id])
