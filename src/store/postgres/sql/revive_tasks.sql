-- Finished tasks that begin a new life.
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
), gone as (
  delete from millrace.finished t using changed c where t.id = any(array[c.id])
  returning t.number, t.id, t.created_at, t.keep_for, t.unique_window, t.unique_scope, t.type,
            t.client_id, t."group", t.tags, t.unique_key, t.payload, t.more
)
insert into millrace.tasks (number, id, created_at, keep_for, unique_window, unique_scope, type,
  client_id, "group", tags, unique_key, payload, more, queue, state, priority, cancel_requested,
  version, deliveries, attempts, retries, lost, start, updated_at, previous_start, started_at,
  start_by, token, worker, error_code, error_message, notes, lease_until)
select g.number, g.id, g.created_at, g.keep_for, g.unique_window, g.unique_scope, g.type,
       g.client_id, g."group", g.tags, g.unique_key, g.payload, g.more, c.queue, c.state,
       c.priority, c.cancel_requested, c.version, c.deliveries, c.attempts, c.retries, c.lost,
       c.start, c.updated_at, c.previous_start, c.started_at, c.start_by, c.token, c.worker,
       c.error_code, c.error_message, c.notes, c.moment
  from gone g join changed c on c.id = g.id
