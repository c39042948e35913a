-- Removes memos whose time is over. Returns how many.
with due as (select key from millrace.memos where expires <= :now order by expires limit :most),
     gone as (delete from millrace.memos m using due d
               where m.key = any(array[d.key]) and m.expires <= :now returning 1)
select count(*) from gone
