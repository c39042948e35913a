-- Gives tasks to a worker, in the order of the contract; the answer itself is in no order.
-- variants: take, take_ageing. The second is for takes where one of the queues raises the priority
-- of waiting tasks: it looks at the first of each priority, and locks the best of them. It is a
-- statement of its own since a plan with both would cost a take of one task a quarter more.
--   :version of settings, see put.sql   :now   :worker   :bytes that it ends with
--   :queues, :mosts how many of each at most, :leases in ms, :ageings in ms, null where nothing ages
--   :seens, by when what is queued there was ready: after :now where the clock may have been set back.
--   Nothing is given out whose start_by has passed.
--   :cursor_queues, :cursor_priorities, :cursor_starts, :cursor_numbers where to begin to look, highest
--   priorities first
-- Everything before that is known to be taken: with an old snapshot open, dead index entries pile
-- up there, and walking them again with every take would be most of the work. Tasks that a newer
-- program has written, in a format that this one cannot read, are left to it. A task that was taken
-- and given back since the statement began is locked as it is now, which the update does not see.
-- Then nothing is done, and the caller begins again.
with wants as (
  select * from unnest(:queues::integer[], :mosts::integer[], :ageings::bigint[],
                       :seens::timestamptz[])
    with ordinality as w(queue, most, ageing, seen, place)
   where (select version from millrace.settings) = :version
), cursors as (
  select * from unnest(:cursor_queues::integer[], :cursor_priorities::smallint[],
                       :cursor_starts::timestamptz[], :cursor_numbers::bigint[])
    as c(queue, priority, start, number)
), picked as materialized (
--only take
  select x.*
    from wants w
   cross join lateral (
     select y.*
       from cursors c
      cross join lateral (
        select t.ctid as at, t.queue, t.state, t.priority, {{taken_bytes}} as size
          from millrace.tasks t
         where t.queue = w.queue and t.priority = c.priority and t.state in ({{ready_states}})
           and (t.start <= :now or t.state = {{queued}}) and t.start <= w.seen
           and (t.start, t.number) >= (c.start, c.number)
           and (t.start_by is null or t.start_by >= :now)
           and (t.more is null or t.more < {{newer_formats}})
           and (t.notes is null or substr(t.notes, 1, 1) < {{newer_formats}})
         order by t.start, t.number
         limit w.most
           for update skip locked) y
      where c.queue = w.queue
      limit w.most) x
--end take
--only take_ageing
  select x.*
    from wants w
   cross join lateral (
     select t.ctid as at, t.queue, t.state, t.priority, {{taken_bytes}} as size,
            w.place, z.effective, z.start, z.number
       from (select y.*
               from cursors c
              cross join lateral (
                select t.id, t.start, t.number,
                       least({{highest_priority}}, c.priority + coalesce(
                         greatest(0, floor(extract(epoch from :now - t.start) * 1000 / w.ageing)), 0)) as effective
                  from millrace.tasks t
                 where t.queue = w.queue and t.priority = c.priority and t.state in ({{ready_states}})
                   and (t.start <= :now or t.state = {{queued}}) and t.start <= w.seen
                   and (t.start_by is null or t.start_by >= :now)
                   and (t.more is null or t.more < {{newer_formats}})
                   and (t.notes is null or substr(t.notes, 1, 1) < {{newer_formats}})
                 order by t.start, t.number
                 limit w.most) y
              where c.queue = w.queue
              order by y.effective desc, y.start, y.number
              limit w.most) z
       join millrace.tasks t on t.id = any(array[z.id])
      where t.state in ({{ready_states}})
        for update of t skip locked) x
   order by x.place, x.effective desc, x.start, x.number
--end take_ageing
), chosen as materialized (
  select * from (select *, sum(size) over w - size as before from picked
                 window w as (rows unbounded preceding)) n
   where before < :bytes
), leased as (
  update millrace.tasks t
     set state = {{processing}}, token = {{new_token}}, started_at = :now, updated_at = :now,
         lease_until = :now + (:leases::bigint[])[array_position(:queues::integer[], t.queue)]
                            * interval '1 millisecond',
         version = t.version + 1, deliveries = t.deliveries + 1, worker = :worker
   where t.ctid = any(array(select at from chosen))
  returning {{t.taken}}
), freed as (
  delete from millrace.holders h using leased l
   where l.unique_scope = {{until_started}} and h.queue = any(array[l.queue])
     and h.key = any(array[l.unique_key]) and h.number = l.number
), counted as (
  insert into millrace.count_changes (queue, state, priority, change)
  select queue, c.state, priority, c.change
    from (select queue, state, priority, count(*) as n from chosen group by queue, state, priority) g
   cross join lateral (values (g.state, -g.n), ({{processing}}::smallint, g.n)) as c(state, change)
   where millrace.same_number((select count(*) from chosen), (select count(*) from leased))
)
select * from leased
