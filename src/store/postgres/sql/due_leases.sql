-- Leases past their end, earliest first.
--   :now   :most, how many at most   :after, nothing that ended until then is left
select {{row}} from millrace.live_rows
 where state = {{processing}} and moment <= :now and moment > :after
 order by moment, number limit :most
