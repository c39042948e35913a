-- A queue says how large its tasks may be. put_bytes() is that of 0006_put_too_large.sql but for this.

alter table millrace.queues
  add column max_task_size bigint;  -- null: 1 MiB

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
       unique_window, unique_scope, type, client_id, "group", tags, unique_key, payload, more)
    values (its_number, task, its.queue, waits, in_priority, ready, coalesce(in_created_at, moment),
            moment, date_trunc('milliseconds', in_start_by), keep, lasts, scope, coalesce(in_type, ''),
            nullif(in_client_id, ''), nullif(in_group, ''), nullif(in_tags, '{}'), in_key, in_payload,
            more)
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
