-- Unique keys that nobody held. A key that somebody took meanwhile fails, and the call begins again.
insert into millrace.holders ({{holder}})
select * from unnest(:queues::integer[], :keys::text[], :tasks::uuid[], :numbers::bigint[],
                     :until::timestamptz[])
