-- Checkpoints, and tasks that are parked until they are released.

alter table millrace.tasks
  add column checkpoint bytea,  -- what its runs have written down to go on from
  add column answer bytea;      -- what it was released with
alter table millrace.finished  -- of tasks that are not completed and may be retried
  add column checkpoint bytea,
  add column answer bytea;

-- Parked tasks that are released by their time: they have run, and a held task has not.
create index tasks_parked on millrace.tasks (start, number)
  where state = 0 and deliveries > 0 and start < 'infinity';

create or replace view millrace.live_rows as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         lease_until as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, payload, more, error_code, error_message, notes,
         null::bytea as result, checkpoint, answer
    from millrace.tasks;
create or replace view millrace.live_heads as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         lease_until as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, ''::bytea as payload, more, error_code, error_message, notes,
         null::bytea as result, checkpoint, answer
    from millrace.tasks;
create or replace view millrace.final_rows as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         finished_at as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, payload, more, error_code, error_message, notes, result,
         checkpoint, answer
    from millrace.finished;
create or replace view millrace.final_heads as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         finished_at as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, ''::bytea as payload, more, error_code, error_message, notes,
         null::bytea as result, null::bytea as checkpoint, null::bytea as answer
    from millrace.finished;
