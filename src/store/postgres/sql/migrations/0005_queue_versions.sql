-- Two that change a queue at the same time both take effect: SQL writes only what its caller changes, and
-- every write makes a version of its own.

-- The version of a queue is its updated_at: every write moves it on, whatever the clock shows.
create function millrace.written_after(last timestamptz) returns timestamptz language sql as $$
  select greatest(date_trunc('milliseconds', clock_timestamp()), last + interval '1 millisecond');
$$;

create or replace function millrace.update_queue() returns trigger
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
  -- Only what the caller changes: the row was read before others were waited for.
  update millrace.queues x
     set description = case when new.description is distinct from old.description
                            then coalesce(new.description, '') else x.description end,
         priority = case when new.priority <> old.priority then new.priority else x.priority end,
         active = case when new.is_active <> old.is_active then new.is_active else x.active end,
         max_concurrent = case when new.max_concurrent is distinct from old.max_concurrent
                               then new.max_concurrent else x.max_concurrent end,
         updated_at = millrace.written_after(x.updated_at)
   where x.id = old.id and not x.removing
  returning nullif(x.description, ''), x.priority, x.active, least(x.max_concurrent, 2147483647),
            x.updated_at
       into new.description, new.priority, new.is_active, new.max_concurrent, new.updated_at;
  return case when found then new end;
end $$;

create or replace function millrace.delete_queue() returns trigger
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
       set removing = true, updated_at = millrace.written_after(x.updated_at)
     where x.queue = place;
  else
    delete from millrace.holders x where x.queue = place;
    delete from millrace.rates x where x.queue = place;
    delete from millrace.queues x where x.queue = place;
  end if;
  return old;
end $$;

revoke execute on function millrace.written_after(timestamptz) from public;
