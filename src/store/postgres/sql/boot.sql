-- A name for the time from here to the next crash.
with named as (
  insert into millrace.boots (id) values (gen_random_uuid()) on conflict (one) do nothing returning id
)
select id from named union all select id from millrace.boots limit 1
