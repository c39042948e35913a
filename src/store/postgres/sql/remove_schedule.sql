-- A schedule that is gone.
delete from millrace.schedules where name = :name
