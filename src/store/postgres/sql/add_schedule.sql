-- A new schedule. Fails if somebody else has added one of this name since the caller looked.
insert into millrace.schedules (name, next, paused, schedule) values ($1, $2, $3, $4)
