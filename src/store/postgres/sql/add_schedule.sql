-- A schedule as it is from now on.
-- variants: add_schedule, change_schedule. The first fails if another process has added one of this
-- name since the caller looked; for the second the caller has locked it.
--only add_schedule
insert into millrace.schedules (name, next, paused, schedule) values (:name, :next, :paused, :schedule)
--end add_schedule
--only change_schedule
update millrace.schedules set (name, next, paused, schedule) = (:name, :next, :paused, :schedule)
 where name = :name
--end change_schedule
