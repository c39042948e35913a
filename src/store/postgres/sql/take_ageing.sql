-- As take.sql, where one of the queues raises the priority of those that wait.
--   $1 version of settings, see put.sql   $2 now   $3 worker   $4 bytes of payload that it ends with
--   $5 queues, $6 how many of each at most, $7 lease in ms, $12 ageing in ms
--   $8 queue, $9 priority, $10 start, $11 number: where to begin looking, highest priorities first.
with wants as (
  select * from unnest($5::integer[], $6::integer[], $7::bigint[], $12::bigint[])
    with ordinality as w(queue, most, lease, ageing, place)
   where (select version from millrace.settings) = $1
), picked as materialized (
  select w.place, x.*
    from wants w
   cross join lateral (
     select t.ctid as at, t.queue, t.state, t.priority, octet_length(t.payload) as size, z.effective,
            z.start, z.number
       from (select y.*
               from unnest($8::integer[], $9::smallint[], $10::timestamptz[], $11::bigint[])
                 as m(queue, priority, start, number)
              cross join lateral (
                select t.id, t.start, t.number,
                       least(9, m.priority + coalesce(
                         floor(extract(epoch from $2 - t.start) * 1000 / w.ageing), 0)) as effective
                  from millrace.tasks t
                 where t.queue = w.queue and t.priority = m.priority and t.state in (1, 2, 4)
                   and t.start <= $2
                 order by t.start, t.number
                 limit w.most) y
              where m.queue = w.queue
              order by y.effective desc, y.start, y.number
              limit w.most) z
       join millrace.tasks t on t.id = any(array[z.id])
      where t.state in (1, 2, 4)
        for update of t skip locked) x
), chosen as materialized (
  select * from (select *, sum(size) over w - size as before from picked
                 window w as (order by place, effective desc, start, number rows unbounded preceding)) n
   where before < $4
), leased as (
  update millrace.tasks t
     set state = 3, token = nextval('millrace.tokens'), started_at = $2, updated_at = $2,
         lease_until = $2 + ($7::bigint[])[array_position($5::integer[], t.queue)]
                          * interval '1 millisecond',
         version = t.version + 1, deliveries = t.deliveries + 1, worker = $3
   where t.ctid = any(array(select at from chosen))
  returning t.number, t.id, t.queue, t.priority, t.deliveries, t.attempts, t.retries, t.lost, t.start,
            t.created_at, t.previous_start, t.start_by, t.token, t.keep_for, t.unique_window,
            t.unique_scope, t.type, t.client_id, t."group", t.tags, t.unique_key, t.payload, t.more
), freed as (
  delete from millrace.holders h using leased l
   where l.unique_scope = 0 and h.queue = any(array[l.queue]) and h.key = any(array[l.unique_key])
     and h.number = l.number
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, c.state, priority, c.change
    from (select queue, state, priority, count(*) as n from chosen group by queue, state, priority) g
   cross join lateral (values (g.state, -g.n), (3::smallint, g.n)) as c(state, change)
   where millrace.same_number((select count(*) from chosen), (select count(*) from leased))
)
select * from leased
