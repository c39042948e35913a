-- The two tables that people expect, as views: millrace.task_queues and millrace.queue_tasks.
-- docs/postgres.md is the manual.
--
-- The views show what is kept and change it as the verbs of the store do; the triggers run with the
-- rights of the owner, so that a right on the view is enough.

-- ---- Values -------------------------------------------------------------------------------------

-- None of these runs in parallel workers: a function that catches errors is not parallel-safe.
--
-- Bytes as text. What is not text in UTF-8 is shown with escapes: \000, \377.
create function millrace.as_text(bytes bytea) returns text
language plpgsql immutable strict as $$
begin
  return convert_from(bytes, 'UTF8');
exception when others then
  return encode(bytes, 'escape');
end $$;

-- Bytes as jsonb, whatever they are. Nothing at all is JSON's null; JSON that jsonb refuses (it has
-- \u0000) and other text is a string with that text in it; the rest is {"$base64": "…"}.
create function millrace.as_json(bytes bytea) returns jsonb
language plpgsql immutable strict as $$
declare
  its_text text;
begin
  if length(bytes) = 0 then
    return 'null';
  end if;
  begin
    its_text := convert_from(bytes, 'UTF8');
    return its_text::jsonb;
  exception when others then
    null;
  end;
  if its_text is not null then
    return to_jsonb(its_text);
  end if;
  return jsonb_build_object('$base64', replace(encode(bytes, 'base64'), E'\n', ''));
end $$;

create function millrace.from_little_end(bytes bytea, at integer) returns bigint
language sql immutable strict parallel safe as $$
  select get_byte(bytes, at) + (get_byte(bytes, at + 1) << 8) + (get_byte(bytes, at + 2) << 16)
         + (get_byte(bytes, at + 3)::bigint << 24)
$$;

-- The max_retries of retry rules that begin at a place, and where they end. Each of the nine fields is
-- a flag, and the value if that is 1 (store/embedded/fields.h).
create function millrace.read_rules(bytes bytea, inout at integer, out retries bigint)
language plpgsql immutable parallel safe as $$
declare
  sizes constant integer[] := array[1, 8, 8, 8, 1, 8, 1, 4, 1];
begin
  for field in 1..9 loop
    at := at + 1;
    if get_byte(bytes, at - 1) = 1 then
      if field = 8 then
        retries := millrace.from_little_end(bytes, at);
      end if;
      at := at + sizes[field];
    end if;
  end loop;
end $$;

-- How often a task may be retried: as it says itself (tasks.more), as its queue says for its type, as
-- its queue says (queues.policies). Null: nothing says, and the server's retry.max_retries counts,
-- which no table knows. The largest integer stands for no limit.
create function millrace.max_retries_of(more bytea, policies bytea, type text) returns integer
language plpgsql immutable as $$
declare
  given integer;
  place integer := 2;
  size integer;
  of_queue bigint;
  found bigint;
  its_type text;
begin
  if more is not null then
    given := get_byte(more, 1);
    if given & 1 <> 0 then
      place := place + 4 + millrace.from_little_end(more, place);
    end if;
    place := place + case when given & 2 <> 0 then 9 else 0 end
                   + case when given & 4 <> 0 then 5 else 0 end;
    if given & 8 <> 0 then
      found := (millrace.read_rules(more, place + 1)).retries;
    end if;
  end if;
  if found is null and policies is not null then
    select r.retries, r.at into of_queue, place from millrace.read_rules(policies, 1) r;
    for i in 1..millrace.from_little_end(policies, place) loop
      place := place + case when i = 1 then 4 else 0 end;
      size := millrace.from_little_end(policies, place);
      its_type := convert_from(substr(policies, place + 5, size), 'UTF8');
      select r.retries, r.at into found, place from millrace.read_rules(policies, place + 4 + size) r;
      exit when its_type = type;
      found := null;
      place := place + 1 + 8 * get_byte(policies, place);
      place := place + 1 + 4 * get_byte(policies, place);
    end loop;
    found := coalesce(found, of_queue);
  end if;
  return case when found is not null then least(found, 2147483647) end;
exception when others then
  return null;
end $$;

-- ---- Queues -------------------------------------------------------------------------------------

-- Queues that are being removed, and Millrace's own ($…), are not shown.
create view millrace.task_queues as
  select id, name::text as name, nullif(description, '') as description,
         case when max_concurrent is not null
              then least(max_concurrent, 2147483647)::integer end as max_concurrent,
         priority::integer as priority,
         active as is_active, created_at, updated_at, number, paused_until, draining as is_draining,
         max_depth
    from millrace.queues where not removing and left(name, 1) <> '$';
alter view millrace.task_queues alter column id set default millrace.uuid_v7();
alter view millrace.task_queues alter column max_concurrent set default 1;
alter view millrace.task_queues alter column priority set default 5;
alter view millrace.task_queues alter column is_active set default true;

create function millrace.check_queue_row(id uuid, name text, description text, max_concurrent integer,
                                         priority integer) returns void language plpgsql as $$
begin
  if name is null then
    raise exception using errcode = '23502', message = 'name is null';
  elsif id = '00000000-0000-0000-0000-000000000000' then
    raise exception using errcode = '23514', message = 'id is nil; allowed is any other UUID';
  end if;
  perform millrace.check_name('queue name', name);
  if name ~ '^([0-9]+|\.\.?|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$' then
    raise exception using errcode = '22023',
      message = format('queue name "%s" would be taken for a number, an id or a path; add a '
        'letter', name);
  end if;
  perform millrace.check_label('description', description, 1024);
  if max_concurrent < 0 then
    raise exception using errcode = '23514',
      message = format('max_concurrent is %s; allowed are 1 and up, 0 and null for no '
        'limit', max_concurrent);
  elsif priority not between 0 and 9 then
    raise exception using errcode = '23514',
      message = format('priority is %s; allowed are 0 to 9, 9 first', priority);
  end if;
end $$;

-- One process at a time changes queues, and stores read them again.
create function millrace.new_queue_version() returns void language sql as $$
  update millrace.settings set version = version + 1;
  select millrace.tell('q');
$$;

create function millrace.insert_queue() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  moment constant timestamptz := date_trunc('milliseconds', clock_timestamp());
  removing boolean;
  place integer;
begin
  new.id := coalesce(new.id, millrace.uuid_v7());
  new.priority := coalesce(new.priority, 5);
  new.is_active := coalesce(new.is_active, true);
  new.max_concurrent := nullif(new.max_concurrent, 0);
  perform millrace.check_queue_row(new.id, new.name, new.description, new.max_concurrent,
                                   new.priority);
  if new.paused_until is not null or new.is_draining or new.max_depth is not null then
    raise exception using errcode = '0A000',
      message = 'paused_until, is_draining and max_depth cannot be set here',
      hint = 'Use a server: "millrace queues create" and "millrace queues change".';
  end if;
  perform millrace.new_queue_version();
  select x.removing into removing from millrace.queues x where x.name = new.name;
  if removing then
    raise exception using errcode = '55000',
      message = format('queue "%s" is still being removed', new.name),
      hint = 'Create it anew when its tasks are gone.';
  end if;
  select coalesce(min(p), 0) into place
    from (select 0 as p union all select x.queue + 1 from millrace.queues x) t
   where not exists (select from millrace.queues x where x.queue = p);
  if place >= 10000 then
    raise exception using errcode = '53400',
      message = 'there are 10000 queues, the most a store keeps';
  end if;
  -- Retries as the original design of these tables has them: 10, 20, 40 s, at most an hour, three of them.
  insert into millrace.queues
    (queue, name, number, id, description, active, max_concurrent, priority, keep_completed_for,
     keep_completed_last, keep_dead_for, keep_dead_last, completed_class, dead_class, policies,
     created_at, updated_at)
  values (place, new.name, new.number, new.id, coalesce(new.description, ''), new.is_active,
          new.max_concurrent, new.priority, 86400000, 100000, 2592000000, 100000, 1, 30,
          '\x010101011027000000000000010000000000000040'
          '0180ee36000000000001000100000000000000000001030000000000000000', moment, moment);
  new.created_at := moment;
  new.updated_at := moment;
  new.is_draining := false;
  return new;
end $$;
create trigger insert_queue instead of insert on millrace.task_queues
  for each row execute function millrace.insert_queue();

create function millrace.update_queue() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  new.max_concurrent := nullif(new.max_concurrent, 0);
  perform millrace.check_queue_row(new.id, new.name, new.description, new.max_concurrent,
                                   new.priority);
  if new.priority is null or new.is_active is null then
    raise exception using errcode = '23502', message = 'priority or is_active is null';
  elsif (new.id, new.name) is distinct from (old.id, old.name) then
    raise exception using errcode = '0A000',
      message = 'the id and the name of a queue stay as they are',
      hint = 'Create another queue, and move the tasks: "millrace tasks move".';
  elsif (new.created_at, new.number, new.paused_until, new.is_draining, new.max_depth) is distinct from
        (old.created_at, old.number, old.paused_until, old.is_draining, old.max_depth) then
    raise exception using errcode = '0A000',
      message = 'only description, max_concurrent, priority and is_active can be changed here',
      hint = 'Use a server: "millrace queues change".';
  end if;
  perform millrace.new_queue_version();
  new.updated_at := date_trunc('milliseconds', clock_timestamp());
  update millrace.queues x
     set description = coalesce(new.description, ''), priority = new.priority, active = new.is_active,
         max_concurrent = case when new.max_concurrent is distinct from old.max_concurrent
                               then new.max_concurrent else x.max_concurrent end,
         updated_at = new.updated_at
   where x.id = old.id and not x.removing;
  return case when found then new end;
end $$;
create trigger update_queue instead of update on millrace.task_queues
  for each row execute function millrace.update_queue();

-- Takes the tasks with it: a queue that has some is marked, and the servers' upkeep empties it.
create function millrace.delete_queue() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  place integer;
  putting boolean;
begin
  perform millrace.new_queue_version();
  select x.queue into place from millrace.queues x where x.id = old.id and not x.removing;
  if place is null then
    return null;
  end if;
  perform pg_advisory_xact_lock(hashtext('millrace.'), -4);  -- see hold_queues()
  putting := not pg_try_advisory_xact_lock(hashtext('millrace.queues'), place);
  if putting or exists (select from millrace.tasks x where x.queue = place)
     or exists (select from millrace.finished x where x.queue = place) then
    update millrace.queues x
       set removing = true, updated_at = date_trunc('milliseconds', clock_timestamp())
     where x.queue = place;
  else
    delete from millrace.holders x where x.queue = place;
    delete from millrace.rates x where x.queue = place;
    delete from millrace.queues x where x.queue = place;
  end if;
  return old;
end $$;
create trigger delete_queue instead of delete on millrace.task_queues
  for each row execute function millrace.delete_queue();

-- ---- Tasks --------------------------------------------------------------------------------------

-- One branch a status, each with constants where it can have them, so that a filter leaves branches out
-- and the others find their rows by an index. The join is inside, since a filter by queue does not
-- get into a union otherwise.
create view millrace.queue_tasks as
  select t.id, t.queue_id, t.type as task_type, millrace.as_json(t.payload) as task_data,
         t.priority::integer as priority, t.status, t.retries as retry_count,
         millrace.max_retries_of(t.more, t.policies, t.type) as max_retries, t.next_retry_at,
         millrace.as_json(t.result) as result_data,
         millrace.as_text(coalesce(nullif(t.error_message, ''), t.error_code)) as error_message,
         t.worker as assigned_worker, t.started_at, t.finished_at as completed_at, t.created_at,
         t.updated_at, t.lease_until as lease_expires_at, t.deliveries, t.lost as lost_leases,
         t.start as ready_at, t.cancel_requested,
         (array['created', 'queued', 'delayed', 'processing', 'retrying', 'completed', 'failed',
                'dead', 'cancelled'])[t.state + 1] as state, t.name::text as queue_name
    from (
      select x.id, q.id as queue_id, x.type, x.payload, x.priority, 'pending'::text as status,
             x.retries, x.more, q.policies, null::timestamptz as next_retry_at, null::bytea as result,
             x.error_message, x.error_code, null::text as worker, x.started_at,
             null::timestamptz as finished_at, x.created_at, x.updated_at,
             null::timestamptz as lease_until, x.deliveries, x.lost, x.start, x.cancel_requested,
             x.state, q.name
        from millrace.tasks x join millrace.queues q on q.queue = x.queue
       where not q.removing and left(q.name, 1) <> '$' and x.state in (0, 1, 2) and (x.state <> 1 or x.attempts = 0)
       union all
      select x.id, q.id as queue_id, x.type, x.payload, x.priority, 'queued'::text as status,
             x.retries, x.more, q.policies, null::timestamptz as next_retry_at, null::bytea as result,
             x.error_message, x.error_code, null::text as worker, x.started_at,
             null::timestamptz as finished_at, x.created_at, x.updated_at,
             null::timestamptz as lease_until, x.deliveries, x.lost, x.start, x.cancel_requested,
             x.state, q.name
        from millrace.tasks x join millrace.queues q on q.queue = x.queue
       where not q.removing and left(q.name, 1) <> '$' and x.state = 1 and x.attempts > 0
       union all
      select x.id, q.id as queue_id, x.type, x.payload, x.priority, 'queued'::text as status,
             x.retries, x.more, q.policies, x.start as next_retry_at, null::bytea as result,
             x.error_message, x.error_code, null::text as worker, x.started_at,
             null::timestamptz as finished_at, x.created_at, x.updated_at,
             null::timestamptz as lease_until, x.deliveries, x.lost, x.start, x.cancel_requested,
             x.state, q.name
        from millrace.tasks x join millrace.queues q on q.queue = x.queue
       where not q.removing and left(q.name, 1) <> '$' and x.state = 4
       union all
      select x.id, q.id as queue_id, x.type, x.payload, x.priority, 'processing'::text as status,
             x.retries, x.more, q.policies, null::timestamptz as next_retry_at, null::bytea as result,
             x.error_message, x.error_code, x.worker as worker, x.started_at,
             null::timestamptz as finished_at, x.created_at, x.updated_at,
             x.lease_until as lease_until, x.deliveries, x.lost, x.start, x.cancel_requested,
             x.state, q.name
        from millrace.tasks x join millrace.queues q on q.queue = x.queue
       where not q.removing and left(q.name, 1) <> '$' and x.state = 3
       union all
      select x.id, q.id as queue_id, x.type, x.payload, x.priority, 'completed'::text as status,
             x.retries, x.more, q.policies, null::timestamptz as next_retry_at, x.result as result,
             x.error_message, x.error_code, x.worker as worker, x.started_at,
             x.finished_at as finished_at, x.created_at, x.updated_at,
             null::timestamptz as lease_until, x.deliveries, x.lost, x.start, x.cancel_requested,
             x.state, q.name
        from millrace.finished x join millrace.queues q on q.queue = x.queue
       where not q.removing and left(q.name, 1) <> '$' and x.state = 5
       union all
      select x.id, q.id as queue_id, x.type, x.payload, x.priority, 'failed'::text as status,
             x.retries, x.more, q.policies, null::timestamptz as next_retry_at, x.result as result,
             x.error_message, x.error_code, x.worker as worker, x.started_at,
             x.finished_at as finished_at, x.created_at, x.updated_at,
             null::timestamptz as lease_until, x.deliveries, x.lost, x.start, x.cancel_requested,
             x.state, q.name
        from millrace.finished x join millrace.queues q on q.queue = x.queue
       where not q.removing and left(q.name, 1) <> '$' and x.state in (6, 7)
       union all
      select x.id, q.id as queue_id, x.type, x.payload, x.priority, 'cancelled'::text as status,
             x.retries, x.more, q.policies, null::timestamptz as next_retry_at, x.result as result,
             x.error_message, x.error_code, x.worker as worker, x.started_at,
             x.finished_at as finished_at, x.created_at, x.updated_at,
             null::timestamptz as lease_until, x.deliveries, x.lost, x.start, x.cancel_requested,
             x.state, q.name
        from millrace.finished x join millrace.queues q on q.queue = x.queue
       where not q.removing and left(q.name, 1) <> '$' and x.state = 8
    ) t;
alter view millrace.queue_tasks alter column id set default millrace.uuid_v7();
alter view millrace.queue_tasks alter column priority set default 5;
alter view millrace.queue_tasks alter column status set default 'pending';
alter view millrace.queue_tasks alter column retry_count set default 0;

create function millrace.check_task_row(status text, priority integer) returns void
language plpgsql as $$
begin
  if status not in ('pending', 'queued', 'processing', 'completed', 'failed', 'cancelled') then
    raise exception using errcode = '23514',
      message = format('status is "%s"; allowed are pending, queued, processing, completed, failed '
        'and cancelled', left(status, 80));
  elsif priority not between 0 and 9 then
    raise exception using errcode = '23514',
      message = format('priority is %s; allowed are 0 to 9, 9 first', priority);
  end if;
end $$;

-- A put of a task that waits. That its id is taken is an error here, as in any table.
create function millrace.insert_task() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  done record;
  missing constant text := case when new.queue_id is null then 'queue_id' when new.task_type is null
                           then 'task_type' when new.task_data is null then 'task_data' end;
begin
  if missing is not null then
    raise exception using errcode = '23502', message = format('%s is null', missing);
  end if;
  new.priority := coalesce(new.priority, 5);
  perform millrace.check_task_row(new.status, new.priority);
  if new.status not in ('pending', 'queued') or new.retry_count <> 0 or new.deliveries <> 0
     or new.lost_leases <> 0 or new.cancel_requested or new.state is not null
     or coalesce(new.result_data::text, new.error_message, new.assigned_worker, new.started_at::text,
                 new.completed_at::text, new.lease_expires_at::text, new.queue_name) is not null then
    raise exception using errcode = '0A000',
      message = 'a task begins pending, without an outcome and without a worker',
      hint = 'Give id, queue_id, task_type, task_data, priority, max_retries and next_retry_at, or '
        'call millrace.put(); "millrace import" brings tasks in as they were elsewhere.';
  end if;
  if not exists (select from millrace.queues x where x.id = new.queue_id and not x.removing) then
    raise exception using errcode = '23503',
      message = format('there is no queue with id %s', new.queue_id),
      hint = 'millrace.task_queues has the queues.';
  end if;
  select * into done from millrace.put_bytes(
    new.queue_id::text, convert_to(new.task_data::text, 'UTF8'), new.task_type, new.priority, null,
    coalesce(new.next_retry_at, new.ready_at), null, null, null, null, null, null, null, null, null,
    null, null, new.max_retries, null, false, new.id, false,
    case when isfinite(new.created_at)
         then least(date_trunc('milliseconds', new.created_at), clock_timestamp()) end);
  if done.was_there then
    raise exception using errcode = '23505',
      message = format('there is a task with id %s already', new.id);
  end if;
  select * into new from millrace.queue_tasks x where x.id = done.task;
  return new;
end $$;
create trigger insert_task instead of insert on millrace.queue_tasks
  for each row execute function millrace.insert_task();

-- Priority and start of a task that waits, as Store::update does it.
create function millrace.update_task() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  moment constant timestamptz := date_trunc('milliseconds', clock_timestamp());
  start_at timestamptz := case when new.next_retry_at is distinct from old.next_retry_at
                               then new.next_retry_at
                               when new.ready_at is distinct from old.ready_at then new.ready_at end;
  changeable constant text[] := array['priority', 'next_retry_at', 'ready_at', 'updated_at'];
  was millrace.tasks;
begin
  perform millrace.check_task_row(new.status, new.priority);
  if new.status is distinct from old.status then
    raise exception using errcode = '0A000', message = 'the status of a task cannot be set here',
      hint = 'A server takes, settles and cancels tasks: "millrace work", "millrace task cancel", '
        '"millrace task retry", "millrace task release".';
  elsif (to_jsonb(new) - changeable) is distinct from (to_jsonb(old) - changeable) then
    raise exception using errcode = '0A000',
      message = 'only priority, next_retry_at and ready_at of a task can be changed here',
      hint = 'What was put stays; "millrace tasks move" moves it to another queue.';
  elsif new.priority is null or (new.next_retry_at is null and old.next_retry_at is not null)
        or new.ready_at is null then
    raise exception using errcode = '23502', message = 'priority, next_retry_at or ready_at is null',
      hint = 'now() is at once.';
  elsif old.state not in ('created', 'queued', 'delayed', 'retrying') then
    raise exception using errcode = '55000',
      message = format('task %s is %s and cannot be changed; only waiting tasks '
        'can', old.id, old.state);
  elsif start_at > moment + interval '3653 days' then
    raise exception using errcode = '22023',
      message = format('start is %s; allowed is at most 10 years ahead', start_at);
  end if;
  -- One that was taken since is left out, as by a WHERE that it does not fit any more.
  select x.* into was from millrace.tasks x
   where x.id = old.id and x.state in (0, 1, 2, 4) for update;
  if not found then
    return null;
  end if;
  start_at := case when start_at is not null
                   then greatest(moment, date_trunc('milliseconds', start_at)) end;
  update millrace.tasks x
     set priority = new.priority, start = coalesce(start_at, was.start),
         state = case when start_at is null or was.state in (0, 4) then was.state
                      when start_at > moment then 2 else 1 end,
         version = was.version + 1, updated_at = moment
   where x.id = old.id
  returning x.start, x.updated_at into new.ready_at, new.updated_at;
  insert into millrace.count_changes (queue, state, priority, change)
  select was.queue, was.state, was.priority, -1
   union all
  select x.queue, x.state, x.priority, 1 from millrace.tasks x where x.id = old.id;
  return new;
end $$;
create trigger update_task instead of update on millrace.queue_tasks
  for each row execute function millrace.update_task();

-- Removes a task that waits or is final for good, as Store::remove does it.
create function millrace.delete_task() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was record;
begin
  if old.state = 'processing' then
    raise exception using errcode = '55006',
      message = format('task %s is processing and cannot be removed', old.id),
      hint = format('Cancel it first: millrace task cancel %s', old.id);
  end if;
  delete from millrace.tasks x where x.id = old.id and x.state in (0, 1, 2, 4)
  returning x.queue, x.state, x.priority, x.number, x.unique_key, x.keep_for into was;
  if not found then
    delete from millrace.finished x where x.id = old.id
    returning x.queue, x.state, x.priority, x.number, x.unique_key, x.keep_for into was;
  end if;
  if not found then
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
create trigger delete_task instead of delete on millrace.queue_tasks
  for each row execute function millrace.delete_task();

revoke execute on all functions in schema "millrace" from public;
-- Queries on the views call these.
grant execute on function millrace.uuid_v7(), millrace.as_text(bytea), millrace.as_json(bytea),
  millrace.max_retries_of(bytea, bytea, text), millrace.read_rules(bytea, integer),
  millrace.from_little_end(bytea, integer) to public;
