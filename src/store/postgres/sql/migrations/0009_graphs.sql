-- Tasks that wait for others. docs/adr/0024-graphs.md says why, docs/adr/0015-postgresql.md how.

alter table millrace.tasks
  add column waits bytea,       -- which of the tasks that it waits for still count (row.cc)
  add column orphaned boolean,  -- true: to be cancelled because of how one of them ended
  add column children boolean;  -- true: others wait for it, or did; done.sql leaves it to the state machine

alter table millrace.settings
  add column graphs boolean not null default false;  -- true: there is an edge, or was

create index tasks_orphaned on millrace.tasks (number) where orphaned;

-- From a task to one that waits for it and is told how it ends. The parent may have ended, where the rule
-- is to hold, and need not be there, where the other was restored.
create table millrace.edges (
  parent uuid not null,
  edge bigint not null,  -- number of the other one, times 1024, plus the place among those it waits for
  child uuid not null,   -- its id
  primary key (parent, edge)
);

-- Tasks that have ended and have not told all that wait for them: from this edge on.
create table millrace.untold (
  parent uuid primary key,
  next bigint not null
);

-- For done.sql, with a task that it could not settle: true, or else fails. A task that others wait for is
-- not settled in SQL. Any other that the caller seems to hold has changed in this very moment.
create function millrace.not_held(held boolean, children boolean) returns boolean language plpgsql as $$
begin
  if held and children then
    raise exception 'others wait for a task that is settled' using errcode = 'MR003';
  elsif held then
    raise exception 'another transaction changed a task at the same moment'
      using errcode = 'serialization_failure';
  end if;
  return true;
end $$;

-- ---- As the program reads tasks -----------------------------------------------------------------

create or replace view millrace.live_rows as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         lease_until as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, payload, more, error_code, error_message, notes,
         null::bytea as result, checkpoint, answer, waits, orphaned, children
    from millrace.tasks;
create or replace view millrace.live_heads as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         lease_until as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, ''::bytea as payload, more, error_code, error_message, notes,
         null::bytea as result, checkpoint, answer, waits, orphaned, children
    from millrace.tasks;
create or replace view millrace.final_rows as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         finished_at as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, payload, more, error_code, error_message, notes, result,
         checkpoint, answer, null::bytea as waits
    from millrace.finished;
create or replace view millrace.final_heads as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         finished_at as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, ''::bytea as payload, more, error_code, error_message, notes,
         null::bytea as result, null::bytea as checkpoint, null::bytea as answer, null::bytea as waits
    from millrace.finished;

-- ---- Tables of a class and day ------------------------------------------------------------------

-- That of 0001_tables.sql, but for the tasks that have not told all.
create or replace function millrace.drop_partition(its_class integer, its_day date) returns bigint
language plpgsql as $$
declare
  child text := 'finished_' || its_class || '_' || to_char(its_day, 'YYYYMMDD');
  gone bigint;
begin
  perform pg_advisory_xact_lock(hashtext('millrace.'), -1);
  if to_regclass('millrace.' || child) is null then
    return 0;
  end if;
  -- What is retried or removed meanwhile would be counted twice.
  execute format('lock table millrace.%I in share row exclusive mode', child);
  execute format(
    'update millrace.finished f
        set class = 0,
            goes_at = f.finished_at + interval ''1 millisecond'' *
              case when f.state in (6, 7) then q.keep_dead_for else q.keep_completed_for end
       from millrace.queues q
      where f.class = %s and f.finished_at >= %L and f.finished_at < %L and q.queue = f.queue
        and case when f.state in (6, 7) then q.dead_class else q.completed_class end > %s',
    its_class, its_day::timestamp at time zone 'UTC', (its_day + 1)::timestamp at time zone 'UTC',
    its_class);
  -- What has not told all that wait for it goes once it has (remove_by_own_rule.sql).
  execute format(
    'update millrace.finished f set class = 0, goes_at = f.finished_at
      where f.class = %s and f.finished_at >= %L and f.finished_at < %L
        and exists (select from millrace.untold u where u.parent = f.id)',
    its_class, its_day::timestamp at time zone 'UTC', (its_day + 1)::timestamp at time zone 'UTC');
  execute format(
    'with counted as (
       insert into millrace.count_changes (queue, state, priority, change)
       select queue, state, priority, -count(*) from millrace.%I group by queue, state, priority
       returning -change as n)
     select coalesce(sum(n), 0)::bigint from counted', child) into gone;
  execute format('drop table millrace.%I', child);
  return gone;
end $$;

-- ---- Changes with SQL ---------------------------------------------------------------------------

-- That of 0003_face.sql, but for tasks of graphs: what waits for them must be told, which only servers do.
create or replace function millrace.delete_task() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was record;
begin
  if old.state = 'processing' then
    raise exception using errcode = '55006',
      message = format('task %s is processing and cannot be removed', old.id),
      hint = format('Cancel it first: millrace task cancel %s', old.id);
  end if;
  delete from millrace.tasks x
   where x.id = old.id and x.state in (0, 1, 2, 4) and x.children is null and x.waits is null
  returning x.queue, x.state, x.priority, x.number, x.unique_key, x.keep_for into was;
  if not found then
    delete from millrace.finished x
     where x.id = old.id and not exists (select from millrace.untold u where u.parent = x.id)
    returning x.queue, x.state, x.priority, x.number, x.unique_key, x.keep_for into was;
  end if;
  if not found and exists (
       select from millrace.tasks x where x.id = old.id and (x.children or x.waits is not null)
        union all
       select from millrace.untold u where u.parent = old.id) then
    raise exception using errcode = '55006',
      message = format('task %s waits for others, or others wait for it', old.id),
      hint = format('A server tells them: millrace task remove %s', old.id);
  elsif not found then
    return null;  -- it was taken since
  end if;
  delete from millrace.holders h
   where h.queue = was.queue and h.key = was.unique_key and h.number = was.number and h.until is null;
  insert into millrace.count_changes (queue, state, priority, change)
  select was.queue, was.state, was.priority, -1
   union all
  select was.queue, case when was.state in (6, 7) then 10 else 9 end, 0, -1
   where was.state >= 5 and was.keep_for is not null;
  return old;
end $$;

-- That of 0008_task_size.sql, but for a restored task that waits for this one.
create or replace function millrace.put_bytes(
    in_queue text, in_payload bytea, in_type text, in_priority integer, in_delay interval,
    in_start timestamptz, in_start_by timestamptz, in_key text, in_scope text, in_window interval,
    in_client_id text, in_request_id text, in_group text, in_tags text[], in_metadata jsonb,
    in_content_type text, in_timeout interval, in_max_retries integer, in_keep_for interval,
    in_held boolean, in_id uuid, in_wake boolean, in_created_at timestamptz,
    out task uuid, out its_number bigint, out its_state text, out was_there boolean)
language plpgsql as $$
declare
  moment constant timestamptz := date_trunc('milliseconds', clock_timestamp());
  latest constant timestamptz := moment + interval '3653 days';
  states constant text[] := array['created', 'queued', 'delayed', 'processing', 'retrying', 'completed',
                                  'failed', 'dead', 'cancelled'];
  its millrace.queues;
  since timestamptz := '-infinity';
  ready timestamptz := moment;
  waits smallint;
  scope smallint;
  lasts bigint;
  keep bigint;
  more bytea;
begin
  if in_queue is null or in_payload is null or in_priority is null then
    raise exception using errcode = '22004',
      message = format('%s is null', case when in_queue is null then 'queue'
                                          when in_payload is null then 'payload' else 'priority' end);
  end if;
  -- Values.
  if in_id = '00000000-0000-0000-0000-000000000000' then
    raise exception using errcode = '22023', message = 'task id is nil; allowed is any other UUID';
  end if;
  if in_type <> '' then
    perform millrace.check_name('task type', in_type);
  end if;
  if length(in_payload) > 16777216 then
    raise exception using errcode = '54000',
      message = format('payload has %s bytes; at most 16777216 are allowed', length(in_payload));
  end if;
  if in_priority not between 0 and 9 then
    raise exception using errcode = '22023',
      message = format('priority is %s; allowed are 0 to 9, 9 first', in_priority);
  end if;
  if in_start is not null and in_delay is not null then
    raise exception using errcode = '22023',
      message = 'both start and delay are given; allowed is one of them';
  end if;
  if in_delay is not null then
    ready := date_trunc('milliseconds', moment + in_delay);
    if in_delay < interval '0' or ready < moment or ready > latest then
      raise exception using errcode = '22023',
        message = format('delay is %s; allowed are 0 to 10 years', in_delay);
    end if;
  elsif in_start is not null then
    ready := case when in_start > moment then date_trunc('milliseconds', in_start) else moment end;
    if ready > latest then
      raise exception using errcode = '22023',
        message = format('start is %s; allowed is at most 10 years ahead', in_start);
    end if;
  end if;
  if in_start_by is not null then
    if in_start_by > latest or not isfinite(in_start_by) then
      raise exception using errcode = '22023',
        message = format('start_by is %s; allowed is at most 10 years ahead', in_start_by);
    elsif (in_start is not null or in_delay is not null)
          and in_start_by < (case when in_delay is null then in_start else ready end) then
      raise exception using errcode = '22023',
        message = format('start_by is %s, before the start at %s; allowed is that moment or '
          'later', in_start_by, coalesce(in_start, ready));
    end if;
  end if;
  if in_client_id <> '' then perform millrace.check_label('client id', in_client_id, 255); end if;
  if in_group <> '' then perform millrace.check_label('group', in_group, 255); end if;
  if in_tags is not null then perform millrace.check_tags(in_tags); end if;
  if in_keep_for is not null then
    keep := millrace.check_duration('keep_for', in_keep_for, 0);
  end if;
  if coalesce(in_content_type, in_request_id, in_metadata::text, in_timeout::text,
              in_max_retries::text) is not null then
    perform millrace.check_label('content type', in_content_type, 255);
    perform millrace.check_label('request id', in_request_id, 255);
    perform millrace.check_metadata(in_metadata);
    if in_max_retries < 0 then
      raise exception using errcode = '22023',
        message = format('max_retries is %s; allowed are 0 and up', in_max_retries);
    end if;
    more := millrace.more_of(in_content_type, millrace.check_duration('timeout', in_timeout, 1),
                             in_max_retries, in_request_id, in_metadata::text);
  end if;
  if in_key is not null then
    scope := array_position(array['until_started', 'until_finished', 'window'],
      coalesce(in_scope, case when in_window is null then 'until_finished' else 'window' end)) - 1;
    if in_key = '' or left(in_key, 1) = '$' then
      raise exception using errcode = '22023',
        message = format('unique key "%s" is empty or begins with $; allowed are 1 to 255 '
          'bytes', left(in_key, 80));
    elsif scope is null then
      raise exception using errcode = '22023',
        message = format('unique_scope is "%s"; allowed are until_started, until_finished and '
          'window', left(in_scope, 80));
    elsif (scope = 2) <> (in_window is not null) then
      raise exception using errcode = '22023',
        message = 'the scope "window" and a unique_window belong together';
    end if;
    perform millrace.check_label('unique key', in_key, 255);
    lasts := coalesce(millrace.check_duration('unique window', in_window, 1), 0);
  elsif in_scope is not null or in_window is not null then
    raise exception using errcode = '22023',
      message = 'a unique_scope or unique_window is given without a unique_key';
  end if;
  -- No task with a UUIDv7 can have ended before that was made; clocks may differ by a day.
  if get_byte(uuid_send(in_id), 6) >> 4 = 7 then
    since := to_timestamp(('x' || left(replace(in_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
             - interval '1 day';
    since := least(since, moment - interval '1 day');
  end if;
  task := coalesce(in_id, millrace.uuid_v7());
  waits := case when in_held then 0 when ready > moment then 2 else 1 end;
  for attempt in 1..10 loop
    was_there := true;
    if in_id is not null then
      select t.number, states[t.state + 1] into its_number, its_state
        from (select x.number, x.state from millrace.tasks x where x.id = in_id
               union all
              select f.number, f.state from millrace.finished f
               where f.id = in_id and f.finished_at >= since) t;
      if found then return; end if;
    end if;
    if its.queue is null then
      its := millrace.open_queue(in_queue);
    end if;
    if in_key is not null then
      select h.task, h.number,
             states[1 + coalesce((select x.state from millrace.tasks x
                                   where x.id = h.task and x.number = h.number),
                                 (select f.state from millrace.finished f
                                   where f.id = h.task and f.number = h.number))]
        into task, its_number, its_state
        from millrace.holders h
       where h.queue = its.queue and h.key = in_key and (h.until is null or h.until > moment);
      if found then return; end if;
      task := coalesce(in_id, task, millrace.uuid_v7());
    end if;
    if length(in_payload) > coalesce(its.max_task_size, 1048576) then
      raise exception using errcode = '54000',
        message = format('payload has %s bytes; at most %s are allowed in queue "%s" (its max_task_size, '
          'which may be up to 16777216)', length(in_payload), coalesce(its.max_task_size, 1048576), its.name);
    end if;
    was_there := false;
    its_state := states[waits + 1];
    perform millrace.check_room(its);
    its_number := nextval('millrace.task_numbers');
    if in_key is not null then
      -- Waits for a session that has put the same key and is not done yet, as long as lock_timeout allows.
      insert into millrace.holders as h (queue, key, task, number, until)
      values (its.queue, in_key, task, its_number,
              case when scope = 2 then moment + lasts * interval '1 millisecond' end)
      on conflict (queue, key) do update
         set task = excluded.task, number = excluded.number, until = excluded.until
       where h.until <= moment;
      if not found then continue; end if;
    end if;
    insert into millrace.tasks
      (number, id, queue, state, priority, start, created_at, updated_at, start_by, keep_for,
       unique_window, unique_scope, type, client_id, "group", tags, unique_key, payload, more, children)
    values (its_number, task, its.queue, waits, in_priority, ready, coalesce(in_created_at, moment),
            moment, date_trunc('milliseconds', in_start_by), keep, lasts, scope, coalesce(in_type, ''),
            nullif(in_client_id, ''), nullif(in_group, ''), nullif(in_tags, '{}'), in_key, in_payload,
            more, case when in_id is not null and exists (select from millrace.edges e
                                                           where e.parent = in_id) then true end)
    on conflict (id) do nothing;
    if found and in_id is not null and exists (select from millrace.finished f
                                                where f.id = in_id and f.finished_at >= since) then
      -- It has ended since it was looked for, and that is what the insert has waited for.
      delete from millrace.tasks t where t.id = in_id;
    elsif found then
      insert into millrace.count_changes (queue, state, priority, change)
      values (its.queue, waits, in_priority, 1);
      if in_wake then
        perform millrace.tell('w:' || its.name);
      end if;
      return;
    end if;
    if in_key is not null then
      delete from millrace.holders h
       where h.queue = its.queue and h.key = in_key and h.number = its_number;
    end if;
  end loop;
  raise exception using errcode = '40001',
    message = format('other sessions put task %s or its unique key all the time', task),
    hint = 'Begin the transaction again.';
end $$;

revoke execute on function millrace.not_held(boolean, boolean) from public;
