-- A schedule as it is from now on.
insert into millrace.schedules (name, next, paused, schedule) values ($1, $2, $3, $4)
on conflict (name) do update set next = $2, paused = $3, schedule = $4
