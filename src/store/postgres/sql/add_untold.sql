-- Tasks that have ended and will tell those that wait for them later, from an edge on.
insert into millrace.untold ({{untold}})
select * from unnest({{untold[]}}) on conflict (parent) do update set next = excluded.next
