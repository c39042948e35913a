-- One schedule, locked.
select schedule from millrace.schedules where name = $1 for update
