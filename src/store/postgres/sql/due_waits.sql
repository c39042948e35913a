-- Waiting tasks past their start_by, earliest first.
select {{row}} from millrace.live_rows
 where start_by is not null and state in ({{waiting_states}}) and start_by <= :now
 order by start_by, number limit :most
