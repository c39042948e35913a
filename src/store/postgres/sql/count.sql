-- How many tasks came into a state or left it.
insert into millrace.count_changes (queue, state, priority, change)
select * from unnest($1::integer[], $2::smallint[], $3::smallint[], $4::bigint[])
