-- One schedule, locked.
select schedule, name from millrace.schedules where name = :name for update
