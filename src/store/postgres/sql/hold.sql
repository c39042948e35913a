-- Unique keys that nobody held. A key that somebody took meanwhile fails, and the call begins again.
insert into millrace.holders (queue, key, task, number, until)
select * from unnest($1::integer[], $2::text[], $3::uuid[], $4::bigint[], $5::timestamptz[])
