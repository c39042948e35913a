-- One schedule, locked.
select {{schedule}} from millrace.schedules where name = :name for update
