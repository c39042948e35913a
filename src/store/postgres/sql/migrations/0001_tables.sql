-- Everything Millrace keeps, in a schema of its own.
--
-- Moments come from the program (its clock follows this server's), so nothing here asks for now().
-- Durations are milliseconds. States are numbered as in include/millrace/task.h:
--   0 created, 1 queued, 2 delayed, 3 processing, 4 retrying, 5 completed, 6 failed, 7 dead, 8 cancelled.

create table millrace.migrations (
  version integer primary key,
  name text not null,
  applied_at timestamptz not null default now()
);

-- Empty after a crash, since it is not logged, and on a standby that took over. Commits that were not
-- yet on disk may be lost then, and a caller that waits for a flush must hear of it.
create unlogged table millrace.boots (
  one boolean primary key default true check (one),
  id uuid not null
);

-- ---- Queues -------------------------------------------------------------------------------------

create table millrace.queues (
  queue integer primary key,  -- the short name that tasks know it by; used again once it is free
  name text not null collate "C" unique,
  number bigint unique,
  id uuid not null unique,
  description text not null default '',
  active boolean not null default true,
  draining boolean not null default false,
  removing boolean not null default false,
  paused_until timestamptz,
  max_concurrent bigint,
  max_depth bigint,
  put_max bigint,
  put_per bigint,
  process_max bigint,
  process_per bigint,
  priority smallint not null default 5 check (priority between 0 and 9),
  weight bigint,
  ageing bigint,
  lease bigint not null default 60000,
  timeout bigint,
  batch_size bigint not null default 10,
  max_lost bigint,
  dead_letters boolean not null default true,
  keep_completed_for bigint,
  keep_completed_last bigint,
  keep_dead_for bigint,
  keep_dead_last bigint,
  -- Where its finished tasks go: -1 nowhere, else the class of table millrace.finished.
  completed_class smallint not null,
  dead_class smallint not null,
  policies bytea not null,     -- retry rules, and what types do differently
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Grows with every change of a queue. A server that decides by remembered queues says which version
-- it remembers, and nothing is done if that is an old one.
create table millrace.settings (version bigint not null);
insert into millrace.settings values (1);

-- The version of the settings. No queue is erased until the transaction ends, so that nothing is put
-- into one that is gone: lock_removal.sql waits.
create function millrace.hold_queues() returns bigint language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(hashtext('millrace.'), -4);
  return (select version from millrace.settings);
end $$;

-- The same, and fails with a code of our own unless this is the version.
create function millrace.same_version(expected bigint) returns bigint language plpgsql as $$
begin
  if millrace.hold_queues() <> expected then
    raise exception 'the settings of queues have changed' using errcode = 'MR001';
  end if;
  return expected;
end $$;

-- What rates have used up: one row a queue and kind (0 puts, 1 takes), written under its lock.
create table millrace.rates (
  queue integer not null,
  kind smallint not null,
  used bytea not null,
  primary key (queue, kind)
) with (fillfactor = 50);

-- ---- Tasks --------------------------------------------------------------------------------------

create sequence millrace.task_numbers;
create sequence millrace.tokens cache 100;
-- Tokens of two stores should not meet: a task may come from an export of another one.
select setval('millrace.tokens', (random() * 2 ^ 60)::bigint + 1);

-- What waits and what runs.
create table millrace.tasks (
  number bigint not null default nextval('millrace.task_numbers'),
  id uuid not null,
  queue integer not null,
  state smallint not null,     -- 0 to 4
  priority smallint not null,  -- 0 to 9; a check of each row would be a thirtieth of all work
  cancel_requested boolean not null default false,
  version integer not null default 1,
  deliveries integer not null default 0,
  attempts integer not null default 0,
  retries integer not null default 0,
  lost integer not null default 0,
  start timestamptz not null,  -- the ready moment
  created_at timestamptz not null,
  updated_at timestamptz not null,
  previous_start timestamptz,
  started_at timestamptz,
  start_by timestamptz,
  lease_until timestamptz,
  token bigint,                -- of the lease; afterwards the one that settled it
  keep_for bigint,
  unique_window bigint,
  unique_scope smallint,
  worker text,
  type text not null,
  client_id text,
  "group" text,
  tags text[],
  unique_key text,
  payload bytea not null,      -- as it came; jsonb would change its bytes
  more bytea,                  -- what most tasks leave out (row.cc)
  error_code bytea,
  error_message bytea,
  notes bytea                  -- progress, log, history and the like (row.cc)
) with (fillfactor = 45,  -- so that a lease, which is written once per task, finds room in the same page
        autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- True, or else fails as a conflict does: the transaction is to begin again.
create function millrace.same_number(wanted bigint, done bigint) returns boolean language plpgsql as $$
begin
  if wanted <> done then
    raise exception 'another transaction changed these tasks at the same moment'
      using errcode = 'serialization_failure';
  end if;
  return true;
end $$;

create unique index tasks_id on millrace.tasks (id);
create index tasks_by_state on millrace.tasks (queue, state, number);
create index tasks_ready on millrace.tasks (queue, priority, start, number) where state in (1, 2, 4);
create index tasks_later on millrace.tasks (start, number) where state in (2, 4);
create index tasks_leases on millrace.tasks (lease_until, number) where state = 3;
create index tasks_start_by on millrace.tasks (start_by, number)
  where start_by is not null and state in (0, 1, 2, 4);

-- What is final. The class says how it goes: 0 row by row (rules of less than a day, a rule of its
-- own, by count), n > 0 with the table of its day once n days have passed, 32767 never by age.
create table millrace.finished (
  like millrace.tasks including defaults,
  finished_at timestamptz not null,
  result bytea,
  class smallint not null,
  goes_at timestamptz          -- by a rule of its own
) partition by list (class);
alter table millrace.finished alter column number drop default;

create index finished_id on millrace.finished (id);
create index finished_by_state on millrace.finished (queue, state, number);
-- Completed and cancelled (false) are counted apart from the dead letters (true).
create index finished_by_end on millrace.finished (queue, (state in (6, 7)), finished_at, number)
  where keep_for is null;
create index finished_goes on millrace.finished (goes_at, number) where goes_at is not null;

create table millrace.finished_0 partition of millrace.finished for values in (0);
create table millrace.finished_ever partition of millrace.finished for values in (32767);

-- Unique keys that are held. Until a moment (a window), or until the task frees it.
create table millrace.holders (
  queue integer not null,
  key text not null collate "C",
  task uuid not null,
  number bigint not null,
  until timestamptz,
  primary key (queue, key)
);
create index holders_until on millrace.holders (until) where until is not null;

-- ---- Counters -----------------------------------------------------------------------------------

-- Every change adds a line; from time to time lines are summed up. So no row is fought over, and a
-- count is the sum of a few rows. Beside the states: 9 and 10 count the finished tasks that have a rule
-- of their own, 10 the dead letters among them.
create table millrace.count_changes (
  queue integer not null,
  state smallint not null,
  priority smallint not null,
  change bigint not null
) with (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_cost_delay = 0);

create table millrace.counts (
  queue integer not null,
  state smallint not null,
  priority smallint not null,
  count bigint not null,
  primary key (queue, state, priority)
) with (fillfactor = 50);

-- ---- Schedules and memos ------------------------------------------------------------------------

create table millrace.schedules (
  name text not null collate "C" primary key,
  next timestamptz not null,
  paused boolean not null,
  schedule bytea not null
);

create sequence millrace.memo_versions;
create table millrace.memos (
  key bytea not null primary key,
  value bytea not null,
  version bigint not null,
  expires timestamptz
);
create index memos_expires on millrace.memos (expires) where expires is not null;

-- ---- As the program reads tasks -----------------------------------------------------------------

-- One order of columns for all (row.cc); heads are without what may be large.
create view millrace.live_rows as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         lease_until as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, payload, more, error_code, error_message, notes,
         null::bytea as result
    from millrace.tasks;
create view millrace.live_heads as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         lease_until as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, ''::bytea as payload, more, error_code, error_message, notes,
         null::bytea as result
    from millrace.tasks;
create view millrace.final_rows as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         finished_at as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, payload, more, error_code, error_message, notes, result
    from millrace.finished;
create view millrace.final_heads as
  select number, id, queue, state, priority, cancel_requested, version, deliveries, attempts, retries,
         lost, start, created_at, updated_at, previous_start, started_at, start_by,
         finished_at as moment, token, keep_for, unique_window, unique_scope, worker, type, client_id,
         "group", tags, unique_key, ''::bytea as payload, more, error_code, error_message, notes,
         null::bytea as result
    from millrace.finished;

-- ---- Tables of a class and day ------------------------------------------------------------------

-- Makes the table for what ends on a day (UTC) in a class, if it is not there. Attached rather than
-- created in place, so that no worker has to wait for it.
create function millrace.make_partition(class integer, day date) returns void language plpgsql as $$
declare
  parent text := 'finished_' || class;
  child text := parent || '_' || to_char(day, 'YYYYMMDD');
begin
  perform pg_advisory_xact_lock(hashtext('millrace.'), -1);
  if to_regclass('millrace.' || parent) is null then
    execute format('create table millrace.%I (like millrace.finished including defaults)
                    partition by range (finished_at)', parent);
    execute format('alter table millrace.finished attach partition millrace.%I for values in (%s)',
                   parent, class);
  end if;
  if to_regclass('millrace.' || child) is null then
    execute format('create table millrace.%I (like millrace.finished including defaults)', child);
    execute format('alter table millrace.%I attach partition millrace.%I for values from (%L) to (%L)',
                   parent, child, day::timestamp at time zone 'UTC',
                   (day + 1)::timestamp at time zone 'UTC');
  end if;
end $$;

-- Drops such a table with all that is in it, and says how many that were. Tasks of queues that keep
-- theirs longer by now are moved out first.
create function millrace.drop_partition(its_class integer, its_day date) returns bigint
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
  execute format(
    'with counted as (
       insert into millrace.count_changes (queue, state, priority, change)
       select queue, state, priority, -count(*) from millrace.%I group by queue, state, priority
       returning -change as n)
     select coalesce(sum(n), 0)::bigint from counted', child) into gone;
  execute format('drop table millrace.%I', child);
  return gone;
end $$;
