-- Who holds these unique keys, locked; and those that the named tasks hold, and where they may move.
select queue, key, task, number, until from millrace.holders
 where (queue, key) in (select * from unnest($1::integer[], $2::text[]))
 order by queue, key for update
