-- Waiting tasks past their start_by, earliest first.
select * from millrace.live_rows
 where start_by is not null and state in (0, 1, 2, 4) and start_by <= $1
 order by start_by, number limit $2
