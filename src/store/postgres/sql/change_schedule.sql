-- A schedule as it is from now on, which the caller has locked.
update millrace.schedules set next = $2, paused = $3, schedule = $4 where name = $1
