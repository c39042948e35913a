-- Leases past their end, earliest first.
select * from millrace.live_rows where state = 3 and moment <= $1 order by moment, number limit $2
