-- As list.sql, with everything.
--   :queues   :states   :before this number   :from this one on   :most, how many at most
with walks as (
  select q.queue, s.state::smallint as state
    from unnest(:queues::integer[]) as q(queue) cross join unnest(:states::smallint[]) as s(state)
), found as (
  select {{r.row}} from walks w cross join lateral (
    select {{row}} from millrace.live_rows r
     where r.queue = w.queue and r.state = w.state and r.number < :before and r.number >= :from
     order by r.number desc limit :most) r
   where w.state in ({{live_states}})
  union all
  select {{r.row}} from walks w cross join lateral (
    select {{row}} from millrace.final_rows r
     where r.queue = w.queue and r.state = w.state and r.number < :before and r.number >= :from
     order by r.number desc limit :most) r
   where w.state in ({{final_states}})
)
select {{row}} from found order by number desc limit :most
