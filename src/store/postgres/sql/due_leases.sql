-- Leases past their end, earliest first.
--   $1 now   $2 at most   $3 nothing that ended until then is left
select * from millrace.live_rows
 where state = 3 and moment <= $1 and moment > $3 order by moment, number limit $2
