-- A schedule as it is from now on.
insert into millrace.schedules (name, next, paused, schedule) values (:name, :next, :paused, :schedule)
on conflict (name) do update set next = :next, paused = :paused, schedule = :schedule
