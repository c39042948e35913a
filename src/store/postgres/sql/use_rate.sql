-- What a rate has used up by now.
insert into millrace.rates (queue, kind, used) values ($1, $2, $3)
on conflict (queue, kind) do update set used = excluded.used
