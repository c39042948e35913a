-- A queue as it is from now on.
insert into millrace.queues ({{queue}})
values ({{queue_values}})
on conflict (queue) do update set ({{queue}}) = row ({{excluded.queue}})
