-- Settles leases as done, in one statement, which is all that most of them need. The answer has
-- those that were not held by this token: {{refused}}. Fails (MR003) with a task that others wait for.
--   :ids, sorted   :tokens   :results   :now
--   :keeping_nothing, queues that keep nothing that is done, or some of them (null: none): their tasks are
--   not looked at any further
-- "+ 0" keeps the planner from walking the index of leases, of which it believes there are few.
with settled as (
  select * from unnest(:ids::uuid[], :tokens::bigint[], :results::bytea[]) as s(id, token, result)
), ended as (
  delete from millrace.tasks t using settled s
   where t.id = any(array[s.id]) and t.token = s.token and t.state + 0 = {{processing}}
     and t.children is null
  returning {{t.done}}, t.version, s.result
), kept as (
  insert into millrace.finished
    ({{done}}, state, version, updated_at, finished_at, result, class, goes_at)
  select {{e.done}}, {{completed}}, e.version + 1, :now, :now, e.result,
         case when e.keep_for is null then q.completed_class else {{row_by_row}} end,
         :now + e.keep_for * interval '1 millisecond'
    from (select * from ended
           where keep_for is not null or queue <> all(coalesce(:keeping_nothing::integer[], '{}'))) e
    join millrace.queues q on q.queue = e.queue
   where case when e.keep_for is null then q.completed_class <> {{kept_nowhere}} else e.keep_for > 0 end
  returning queue, priority, keep_for
), freed as (
  delete from millrace.holders h using ended e
   where e.unique_key is not null and h.queue = any(array[e.queue]) and h.key = any(array[e.unique_key])
     and h.number = e.number and h.until is null
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, {{processing}}, priority, -count(*) from ended group by queue, priority
   union all
  select queue, {{completed}}, priority, count(*) from kept group by queue, priority
   union all
  select queue, {{own_finished}}, 0, count(*) from kept where keep_for is not null group by queue
)
select s.id, coalesce(t.state, f.state) as state, coalesce(t.token, f.token) as token
  from (select id, token from settled where (select count(*) from ended) < cardinality(:ids)
           and id not in (select id from ended)) s
  left join lateral (select state, token, children from millrace.tasks t
                      where t.id = any(array[s.id])) t on true
  left join lateral (select state, token from millrace.finished f
                      where f.id = any(array[s.id]) and t.state is null) f on true
 where millrace.not_held(coalesce(t.token = s.token and t.state = {{processing}}, false),
                         coalesce(t.children, false))
