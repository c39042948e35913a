-- Unique keys that are held no longer, or by somebody else from now on.
delete from millrace.holders where (queue, key) in (select * from unnest($1::integer[], $2::text[]))
