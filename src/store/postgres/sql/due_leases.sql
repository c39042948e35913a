-- Leases past their end, earliest first; not those of tasks that only a newer program can read.
--   :now   :most, how many at most   :after, nothing that ended until then is left
select {{row}} from millrace.live_rows
 where state = {{processing}} and moment <= :now and moment > :after
   and (more is null or more < {{newer_formats}})
   and (notes is null or substr(notes, 1, 1) < {{newer_formats}})
 order by moment, number limit :most
