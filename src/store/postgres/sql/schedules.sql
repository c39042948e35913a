-- One schedule or all, by name.
select schedule, name from millrace.schedules where :name::text is null or name = :name order by name
