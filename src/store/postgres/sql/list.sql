-- Tasks by number, newest first: one walk per queue and state, merged.
-- variants: list, list_full. The second has payload, result, log and history as well.
--   :queues   :states   :before this number   :from this one on   :most, how many at most
with walks as (
  select q.queue, s.state::smallint as state
    from unnest(:queues::integer[]) as q(queue) cross join unnest(:states::smallint[]) as s(state)
), found as (
  select {{r.row}} from walks w cross join lateral (
--only list
    select {{row}} from millrace.live_heads r
--end list
--only list_full
    select {{row}} from millrace.live_rows r
--end list_full
     where r.queue = w.queue and r.state = w.state and r.number < :before and r.number >= :from
     order by r.number desc limit :most) r
   where w.state in ({{live_states}})
  union all
  select {{r.row}} from walks w cross join lateral (
--only list
    select {{row}} from millrace.final_heads r
--end list
--only list_full
    select {{row}} from millrace.final_rows r
--end list_full
     where r.queue = w.queue and r.state = w.state and r.number < :before and r.number >= :from
     order by r.number desc limit :most) r
   where w.state in ({{final_states}})
)
select {{row}} from found order by number desc limit :most
