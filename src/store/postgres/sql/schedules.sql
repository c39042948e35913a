-- One schedule or all, by name.
select schedule from millrace.schedules where $1::text is null or name = $1 order by name
