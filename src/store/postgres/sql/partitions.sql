-- The tables of classes and days, by their names.
select (m)[1]::integer as class, ((m)[2]::date::timestamp at time zone 'UTC') as day
  from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_class c on c.oid = i.inhrelid,
       regexp_match(c.relname, '^finished_(\d+)_(\d{8})$') as m
 where p.relnamespace = (select relnamespace from pg_class where oid = 'millrace.finished'::regclass)
   and m is not null
