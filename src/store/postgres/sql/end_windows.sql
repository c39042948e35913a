-- Frees unique keys whose window is over. Returns how many.
with due as (select queue, key from millrace.holders where until <= :now order by until limit :most),
     gone as (delete from millrace.holders h using due d
               where h.queue = any(array[d.queue]) and h.key = any(array[d.key]) and h.until <= :now
              returning 1)
select count(*) from gone
