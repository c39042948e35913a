-- What a rate has used up by now.
insert into millrace.rates (queue, kind, used) values (:queue, :kind, :used)
on conflict (queue, kind) do update set used = excluded.used
