-- Tasks by number, newest first: one walk per queue and state, merged.
-- variants: list, list_full. The second has payload, result, log and history as well.
--   :queues   :states   :before this number   :from this one on   :most, how many entries to walk
--   :type and so on, the filters ({{fits}}): null where any will do; text as bytes, which may be anything
--   :wanted, how many tasks at most   :bytes, no further task once they have as many
-- The numbers alone, which indexes have, say how far the walk reaches. Then the filters are applied
-- where rows are read, so that rows of 36 columns are not handed on from one part of the plan to the
-- next only to be left out. Large values stay where they are until the last line: octet_length()
-- needs only the pointer to a value.
-- Answers one row at least; the columns after those of the task are the same in all of them: how
-- many entries were walked, the number of the next one to walk, and how many bytes the tasks have.
-- The columns of the task are null where no entry matches. The oldest comes first: large values lie in
-- that order on the disk, and are read when a row is sent.
with walks as (
  select q.queue, s.state::smallint as state
    from unnest(:queues::integer[]) as q(queue) cross join unnest(:states::smallint[]) as s(state)
), newest as materialized (
  select number from (
    select t.number from walks w cross join lateral (
      select number from millrace.tasks t
       where t.queue = w.queue and t.state = w.state and t.number < :before and t.number >= :from
       order by t.number desc limit :most::bigint + 1) t
     where w.state in ({{live_states}})
    union all
    select t.number from walks w cross join lateral (
      select number from millrace.finished t
       where t.queue = w.queue and t.state = w.state and t.number < :before and t.number >= :from
       order by t.number desc limit :most + 1) t
     where w.state in ({{final_states}})) entries
   order by number desc limit :most + 1
), reach as materialized (
  select case when count(*) > :most then min(number) end as next,
         case when count(*) > :most then min(number) + 1 else :from end as lowest
    from newest
), found as (
  select {{r.row}} from reach cross join walks w cross join lateral (
--only list
    select {{brief}}, null::bytea as checkpoint, null::bytea as answer, waits from millrace.live_heads r
--end list
--only list_full
    select {{row}} from millrace.live_rows r
--end list_full
     where r.queue = w.queue and r.state = w.state
       and r.number < :before and r.number >= reach.lowest and {{fits}}
     order by r.number desc limit :wanted::bigint + 1) r
   where w.state in ({{live_states}})
  union all
  select {{r.row}} from reach cross join walks w cross join lateral (
--only list
    select {{brief}}, null::bytea as checkpoint, null::bytea as answer, waits from millrace.final_heads r
--end list
--only list_full
    select {{row}} from millrace.final_rows r
--end list_full
     where r.queue = w.queue and r.state = w.state
       and r.number < :before and r.number >= reach.lowest and {{fits}}
     order by r.number desc limit :wanted + 1) r
   where w.state in ({{final_states}})
), measured as (
  select {{row}},
         500 + octet_length(payload) + coalesce(octet_length(more), 0)
         + coalesce(octet_length(error_message), 0) + coalesce(octet_length(notes), 0)
         + coalesce(octet_length(result), 0) + coalesce(octet_length(checkpoint), 0)
         + coalesce(octet_length(answer), 0) + coalesce(octet_length(waits), 0) as bytes
    from found order by number desc limit :wanted + 1
), summed as (
  select {{row}}, bytes, row_number() over newest_first as place,
         sum(bytes) over newest_first - bytes as bytes_above
    from measured window newest_first as (order by number desc)
), matching as materialized (
  select {{row}}, bytes, place <= :wanted and bytes_above < :bytes::bigint as fits_in from summed
), total as (
  select coalesce((select max(number) from matching where not fits_in), reach.next) as next,
         coalesce((select sum(bytes) from matching where fits_in), 0)::bigint as bytes
    from reach
), walked as materialized (
  select count(n.number) as walked, t.next, t.bytes
    from total t left join newest n on t.next is null or n.number > t.next
   group by t.next, t.bytes
)
select {{m.row}}, t.walked, t.next, t.bytes
  from walked t left join matching m on m.fits_in
 order by m.number
