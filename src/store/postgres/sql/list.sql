-- Tasks by number, newest first: one walk per queue and state, merged.
-- variants: list, list_full. The second has payload, result, log and history as well.
--   :queues   :states   :before this number   :from this one on   :most, how many entries to walk
--   :type and so on, the filters: null where any will do; text as bytes, which may be anything
--   :wanted, how many tasks at most   :bytes, no further task once they have as many
-- Large values stay where they are until the last line, and those of tasks that a filter leaves out
-- are never read: octet_length() needs only the pointer to a value.
-- Answers one row at least; the columns after those of the task are the same in all of them: how
-- many entries were walked, the number of the next one, and how many bytes the tasks have. The
-- columns of the task are null where no entry matches.
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
     order by r.number desc limit :most::bigint + 1) r
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
     order by r.number desc limit :most + 1) r
   where w.state in ({{final_states}})
), newest as (
  select {{row}} from found order by number desc limit :most + 1
), tested as materialized (
  select {{row}},
         (:type::bytea is null or convert_to(type, 'UTF8') = :type)
         and (:client_id::bytea is null or convert_to(coalesce(client_id, ''), 'UTF8') = :client_id)
         and (:group::bytea is null or convert_to(coalesce("group", ''), 'UTF8') = :group)
         and (:tag::bytea is null or exists (select from unnest(tags) as t(tag)
                                              where convert_to(t.tag, 'UTF8') = :tag))
         and (:priority::smallint is null or priority = :priority)
         and (:created_from::timestamptz is null or created_at >= :created_from)
         and (:created_until::timestamptz is null or created_at < :created_until) as fits,
         500 + octet_length(payload) + coalesce(octet_length(more), 0)
         + coalesce(octet_length(error_message), 0) + coalesce(octet_length(notes), 0)
         + coalesce(octet_length(result), 0) as bytes
    from newest
), summed as (
  select {{row}}, fits, bytes, row_number() over (order by number desc) as place,
         count(*) filter (where fits) over above as fits_above,
         sum(bytes) filter (where fits) over above as bytes_above
    from tested
  window above as (order by number desc rows between unbounded preceding and 1 preceding)
), walked as (
  select {{row}}, fits, bytes,
         place <= :most and fits_above < :wanted::bigint
         and coalesce(bytes_above, 0) < :bytes::bigint as seen
    from summed
), total as (
  select count(*) filter (where seen) as walked, max(number) filter (where not seen) as next,
         coalesce(sum(bytes) filter (where seen and fits), 0)::bigint as bytes
    from walked
)
select {{w.row}}, t.walked, t.next, t.bytes
  from total t left join walked w on w.seen and w.fits
 order by w.number desc
