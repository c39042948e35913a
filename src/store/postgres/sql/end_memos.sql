-- Memos whose time is over; how many.
with due as (select key from millrace.memos where expires <= $1 order by expires limit $2),
     gone as (delete from millrace.memos m using due d
               where m.key = any(array[d.key]) and m.expires <= $1 returning 1)
select count(*) from gone
