-- How many tasks came into a state or left it.
insert into millrace.count_changes (queue, state, priority, change)
select * from unnest(:queues::integer[], :states::smallint[], :priorities::smallint[], :changes::bigint[])
