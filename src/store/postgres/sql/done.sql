-- Settles leases as done, all that most of them need in one statement. The answer has those that were
-- not held by this token, with their state and the token that they have.
--   $1 ids, sorted   $2 tokens   $3 results   $4 now
--   $5 queues that keep nothing that is done, or some of them (null: none): their tasks are not looked at
--   any further
-- "+ 0" keeps the planner from walking the index of leases, of which it believes there are few.
with settled as (
  select * from unnest($1::uuid[], $2::bigint[], $3::bytea[]) as s(id, token, result)
), ended as (
  delete from millrace.tasks t using settled s
   where t.id = any(array[s.id]) and t.token = s.token and t.state + 0 = 3
  returning t.id, t.queue, t.priority, t.keep_for, t.unique_key, t.number,  -- looked at for all of them
            t.version, t.deliveries, t.attempts, t.retries, t.lost, t.start, t.created_at,
            t.previous_start, t.started_at, t.start_by, t.token, t.unique_window, t.unique_scope,
            t.worker, t.type, t.client_id, t."group", t.tags, t.payload, t.more, t.notes, s.result
), kept as (
  insert into millrace.finished
    (number, id, queue, state, priority, version, deliveries, attempts, retries, lost, start,
     created_at, updated_at, previous_start, started_at, start_by, token, keep_for, unique_window,
     unique_scope, worker, type, client_id, "group", tags, unique_key, payload, more, notes,
     finished_at, result, class, goes_at)
  select e.number, e.id, e.queue, 5, e.priority, e.version + 1, e.deliveries, e.attempts, e.retries,
         e.lost, e.start, e.created_at, $4, e.previous_start, e.started_at, e.start_by, e.token,
         e.keep_for, e.unique_window, e.unique_scope, e.worker, e.type, e.client_id, e."group", e.tags,
         e.unique_key, e.payload, e.more, e.notes, $4, e.result,
         case when e.keep_for is null then q.completed_class else 0 end,
         $4 + e.keep_for * interval '1 millisecond'
    from (select * from ended where keep_for is not null or queue <> all(coalesce($5::integer[], '{}'))) e
    join millrace.queues q on q.queue = e.queue
   where case when e.keep_for is null then q.completed_class >= 0 else e.keep_for > 0 end
  returning queue, priority, keep_for
), freed as (
  delete from millrace.holders h using ended e
   where e.unique_key is not null and h.queue = any(array[e.queue]) and h.key = any(array[e.unique_key])
     and h.number = e.number and h.until is null
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, 3, priority, -count(*) from ended group by queue, priority
   union all
  select queue, 5, priority, count(*) from kept group by queue, priority
   union all
  select queue, 9, 0, count(*) from kept where keep_for is not null group by queue
)
select s.id, coalesce(t.state, f.state), coalesce(t.token, f.token)
  from (select id from settled where (select count(*) from ended) < cardinality($1)
        except select id from ended) s
  left join lateral (select state, token from millrace.tasks t where t.id = any(array[s.id])) t on true
  left join lateral (select state, token from millrace.finished f
                      where f.id = any(array[s.id]) and t.state is null) f on true
