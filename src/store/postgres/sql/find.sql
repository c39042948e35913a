-- Tasks by their ids, in any order.
--   :payload, :notes   whether these parts are wanted; otherwise they are not read
select {{head}}, case when :payload then payload else '' end as payload, more,
       case when :notes then error_code end as error_code,
       case when :notes then error_message end as error_message,
       case when :notes then notes end as notes, case when :notes then result end as result,
       case when :notes then checkpoint end as checkpoint, case when :notes then answer end as answer,
       waits
  from millrace.live_rows where id = any (:ids::uuid[])
union all
select {{head}}, case when :payload then payload else '' end, more,
       case when :notes then error_code end, case when :notes then error_message end,
       case when :notes then notes end, case when :notes then result end, checkpoint, answer, waits
  from millrace.final_rows where id = any (:ids::uuid[])
