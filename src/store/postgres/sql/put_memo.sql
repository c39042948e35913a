-- A memo as it is from now on.
insert into millrace.memos (key, value, version, expires) values ($1, $2, $3, $4)
on conflict (key) do update set value = $2, version = $3, expires = $4
