-- Tasks by their numbers, in any order. Numbers have no index of their own, queues have.
--   :payload, :notes   whether these parts are wanted; otherwise they are not read
-- "limit 1" keeps each look-up a look-up: a join might be planned as a walk over whole queues.
with wanted as (
  select n.number, q.queue
    from unnest(:numbers::bigint[]) as n(number) cross join millrace.queues q
), found as (
  select {{r.row}} from wanted w cross join unnest(array[{{live_states}}]) as s(state)
   cross join lateral (select {{row}} from millrace.live_rows r
                        where r.queue = w.queue and r.state = s.state and r.number = w.number
                        limit 1) r
  union all
  select {{r.row}} from wanted w cross join unnest(array[{{final_states}}]) as s(state)
   cross join lateral (select {{row}} from millrace.final_rows r
                        where r.queue = w.queue and r.state = s.state and r.number = w.number
                        limit 1) r
)
select {{head}}, case when :payload then payload else '' end as payload, more,
       case when :notes then error_code end as error_code,
       case when :notes then error_message end as error_message,
       case when :notes then notes end as notes, case when :notes then result end as result,
       case when :notes then checkpoint end as checkpoint, case when :notes then answer end as answer,
       waits
  from found
