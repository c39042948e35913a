-- Putting tasks with SQL, inside of the transactions that they belong to. docs/postgres.md is the
-- manual. A role that may call millrace.put() may do nothing else: put() runs with the rights of the owner.

-- ---- Values -------------------------------------------------------------------------------------

-- A UUIDv7: the millisecond, 12 bits of the part of it that has passed, and chance. In order for one
-- caller, but for those made within the same microsecond.
create function millrace.uuid_v7() returns uuid language sql volatile parallel safe as $$
  select encode(int8send(((us / 1000) << 16) | (7 << 12) | (us % 1000 * 4096 / 1000))
                || substr(uuid_send(gen_random_uuid()), 9, 8), 'hex')::uuid
    from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us) t
$$;

-- A number as row.cc writes it, little end first.
create function millrace.little_end(value bigint, size integer) returns bytea
language sql immutable strict parallel safe as $$
  select string_agg(substr(int8send(value), 9 - i, 1), ''::bytea order by i)
    from generate_series(1, size) as i
$$;
-- ---- Refusals -----------------------------------------------------------------------------------
--
-- As core/validate does it: what is wrong, and what is allowed.

create function millrace.check_label(what text, value text, most integer) returns void
language plpgsql as $$
begin
  if octet_length(convert_to(value, 'UTF8')) > most then
    raise exception using errcode = '54000',
      message = format('%s has %s bytes; at most %s are '
        'allowed', what, octet_length(convert_to(value, 'UTF8')), most);
  elsif value ~ '[\x01-\x1f\x7f]' then
    raise exception using errcode = '22023',
      message = format('%s has a control character in it; allowed is text without', what);
  end if;
end $$;

create function millrace.check_name(what text, value text) returns void language plpgsql as $$
begin
  if value !~ '^[A-Za-z0-9._:-]{1,100}$' then
    raise exception using errcode = '22023',
      message = format('%s "%s" cannot be used; allowed are A-Z a-z 0-9 . _ : - (1 to 100 of '
        'them)', what, left(value, 80));
  end if;
end $$;

-- Milliseconds; a month has 30 days here.
create function millrace.check_duration(what text, value interval, least_ms bigint) returns bigint
language plpgsql as $$
declare
  ms numeric := trunc(extract(epoch from value) * 1000);
begin
  if ms < least_ms or value < interval '0' or value > interval '3653 days' then
    raise exception using errcode = '22023',
      message = format('%s is %s; allowed are %s ms to 10 years', what, value, least_ms);
  end if;
  return ms;
end $$;

create function millrace.check_tags(tags text[]) returns void language plpgsql as $$
declare
  tag text;
begin
  if array_ndims(tags) > 1 then
    raise exception using errcode = '22023',
      message = 'tags are a list of lists; allowed is a list of text';
  elsif cardinality(tags) > 16 then
    raise exception using errcode = '54000',
      message = format('%s tags are too many; at most 16 are allowed', cardinality(tags));
  end if;
  foreach tag in array tags loop
    if tag is null or tag = '' then
      raise exception using errcode = '22023',
        message = 'a tag is empty; allowed are 1 to 100 bytes';
    end if;
    perform millrace.check_label('tag', tag, 100);
  end loop;
end $$;

-- ---- put ----------------------------------------------------------------------------------------

-- The queue by name, number or id, for a caller that puts into it. It will be there until this
-- transaction ends: queues are erased under the lock that is shared here (close_queue.sql), which
-- no transaction waits for. In a transaction that looks back at an old snapshot that is not enough, since the
-- queue may be gone already; then its row is locked as a foreign key would do it.
create function millrace.open_queue(its_name text) returns millrace.queues language plpgsql as $$
declare
  its millrace.queues;
  place integer;
begin
  if its_name ~ '^[0-9]{1,18}$' then
    select x.queue into place from millrace.queues x where x.number = its_name::bigint;
  elsif its_name ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
    select x.queue into place from millrace.queues x where x.id = its_name::uuid;
  else
    select x.queue into place from millrace.queues x where x.name = its_name;
  end if;
  if place is not null then
    perform pg_advisory_xact_lock_shared(hashtext('millrace.queues'), place);
    if current_setting('transaction_isolation') <> 'read committed' then
      perform from millrace.queues x where x.queue = place for key share;
    end if;
    select x.* into its from millrace.queues x
     where x.queue = place
       and (its_name in (x.name, x.number::text) or lower(its_name) = x.id::text);
  end if;
  if its.queue is null or left(its.name, 1) = '$' then
    if left(its_name, 1) <> '$' and its_name !~ '^[0-9]+$' then
      perform millrace.check_name('queue name', its_name);
    end if;
    raise exception using errcode = '42704', message = format('there is no queue "%s"', its_name),
      hint = format('Create it with "millrace queues create %1$s", or as its owner with: insert '
        'into millrace.task_queues (name) values (%1$L)', its_name);
  end if;
  return its;
end $$;

-- Refuses what a put may not add to a queue. Limits are looked at without a lock, so tasks that others
-- are putting at the same time are not seen.
create function millrace.check_room(its millrace.queues) returns void language plpgsql as $$
declare
  waiting bigint;
begin
  if its.removing then
    raise exception using errcode = '55000',
      message = format('queue "%s" is being removed', its.name),
      hint = 'Wait until it is gone, and create it anew.';
  elsif not its.active then
    raise exception using errcode = '55000', message = format('queue "%s" is not active', its.name),
      hint = format('Activate it first: update millrace.task_queues set is_active = true where '
        'name = %L', its.name);
  elsif its.draining then
    raise exception using errcode = '55000', message = format('queue "%s" is draining', its.name),
      hint = 'It accepts tasks again once it is empty.';
  elsif its.put_max is not null then
    raise exception using errcode = '53400',
      message = format('queue "%s" accepts %s tasks in %s ms, which is counted by the servers '
        'only', its.name, its.put_max, its.put_per),
      hint = 'Put into it through a server, or take its put_rate away.';
  elsif its.max_depth is not null then
    select coalesce(sum(n), 0) into waiting
      from (select c.count as n from millrace.counts c
             where c.queue = its.queue and c.state in (0, 1, 2, 4)
             union all
            select c.change from millrace.count_changes c
             where c.queue = its.queue and c.state in (0, 1, 2, 4)) t;
    if waiting >= its.max_depth then
      raise exception using errcode = '53400',
        message = format('queue "%s" is full: %s tasks wait, %s are '
          'allowed', its.name, waiting, its.max_depth),
        hint = 'Put again when some of them are done.';
    end if;
  end if;
end $$;

-- Tells the servers something once this commits (listener.cc). Transactions that do so commit one
-- after the other, so callers that put much should not do it.
create function millrace.tell(words text) returns void language sql as $$
  select pg_notify('millrace_' || trim(both '"' from '"millrace"'), 'sql ' || words)
$$;

-- What most tasks leave out, as row.cc writes it; null: nothing of it is given.
create function millrace.more_of(content_type text, timeout bigint, max_retries integer,
                                 request_id text, metadata text) returns bytea
language plpgsql immutable as $$
declare
  bits integer := 0;
  bytes bytea := ''::bytea;
begin
  if content_type <> '' then
    bits := bits | 1;
    bytes := bytes || millrace.little_end(octet_length(convert_to(content_type, 'UTF8')), 4)
                   || convert_to(content_type, 'UTF8');
  end if;
  if timeout is not null then
    bits := bits | 2;
    bytes := bytes || '\x01'::bytea || millrace.little_end(timeout, 8);
  end if;
  if max_retries is not null then
    bits := bits | 8;
    bytes := bytes || '\x010000000000000001'::bytea  -- rules, and only the eighth of them
             || millrace.little_end(case when max_retries = 2147483647 then 4294967295
                                         else max_retries end, 4) || '\x00'::bytea;
  end if;
  if request_id <> '' then
    bits := bits | 32;
    bytes := bytes || millrace.little_end(octet_length(convert_to(request_id, 'UTF8')), 4)
                   || convert_to(request_id, 'UTF8');
  end if;
  if metadata is not null then
    bits := bits | 64;
    bytes := bytes || millrace.little_end(octet_length(convert_to(metadata, 'UTF8')), 4)
                   || convert_to(metadata, 'UTF8');
  end if;
  return case when bits <> 0 then '\x01'::bytea || millrace.little_end(bits, 1) || bytes end;
end $$;

-- The put that all others call; the contract is that of Store::put (store/store.h): what is checked, in
-- which order, and what stands in the way and is returned. It writes rows of its own only.
create function millrace.put_bytes(
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
  if length(in_payload) > 1048576 then
    raise exception using errcode = '54000',
      message = format('payload has %s bytes; at most 1048576 are allowed', length(in_payload));
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
    if jsonb_typeof(in_metadata) <> 'object' or octet_length(in_metadata::text) > 16384 then
      raise exception using errcode = '22023',
        message = format('metadata is a JSON %s of %s bytes; allowed is an object of at most '
          '16384', jsonb_typeof(in_metadata), octet_length(in_metadata::text));
    end if;
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
    was_there := false;
    its_state := states[waits + 1];
    perform millrace.check_room(its);
    its_number := nextval('millrace.task_numbers');
    if in_key is not null then
      -- Another transaction that holds the key is waited for, as long as lock_timeout allows.
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
    message = format('other transactions keep putting task %s or its unique key', task),
    hint = 'Begin the transaction again.';
end $$;

-- put() and put_task() for each way to have a payload. An untyped literal is text, and all of them keep
-- the bytes as they came; a jsonb has forgotten what it was made from.
do $do$
declare
  kind text;
  its text;
  how text;
  rest constant text :=
    'type text default '''', priority integer default 5, delay interval default null,
     start timestamptz default null, start_by timestamptz default null, unique_key text default null,
     unique_scope text default null, unique_window interval default null, client_id text default null,
     request_id text default null, "group" text default null, tags text[] default null,
     metadata jsonb default null, content_type text default null, timeout interval default null,
     max_retries integer default null, keep_for interval default null, held boolean default false,
     id uuid default null, wake boolean default false';
  others constant text :=
    '$3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
     null';
begin
  foreach kind in array array['text', 'json', 'jsonb', 'bytea'] loop
    its := kind || case kind when 'text' then ' default ''''' else '' end;
    how := case kind when 'bytea' then '$2' else 'convert_to($2::text, ''UTF8'')' end;
    execute format(
      'create function millrace.put(queue text, payload %s, %s) returns uuid
       language sql volatile security definer set search_path = pg_catalog, pg_temp as
       $$ select p.task from millrace.put_bytes($1, %s, %s) p $$', its, rest, how, others);
    execute format(
      'create function millrace.put_task(queue text, payload %s, %s)
       returns table (task_id uuid, number bigint, state text, existing boolean)
       language sql volatile security definer set search_path = pg_catalog, pg_temp as
       $$ select p.* from millrace.put_bytes($1, %s, %s) p $$', its, rest, how, others);
  end loop;
end $do$;

-- A role that may put and nothing else, and what takes that away again.
create function millrace.grant_put(role name) returns void language plpgsql as $$
declare
  called text;
begin
  execute format('grant usage on schema "millrace" to %I', role);
  for called in select p.oid::regprocedure::text from pg_catalog.pg_proc p
                 where p.pronamespace = to_regnamespace('"millrace"')
                   and p.proname in ('put', 'put_task') loop
    execute format('grant execute on function %s to %I', called, role);
  end loop;
end $$;
create function millrace.revoke_put(role name) returns void language plpgsql as $$
declare
  called text;
begin
  for called in select p.oid::regprocedure::text from pg_catalog.pg_proc p
                 where p.pronamespace = to_regnamespace('"millrace"')
                   and p.proname in ('put', 'put_task') loop
    execute format('revoke execute on function %s from %I', called, role);
  end loop;
  execute format('revoke usage on schema "millrace" from %I', role);
end $$;

revoke execute on all functions in schema "millrace" from public;
-- The inserting role calls the defaults of the views' columns.
grant execute on function millrace.uuid_v7() to public;
