-- A memo as it is from now on.
insert into millrace.memos (key, value, version, expires) values (:key, :value, :version, :expires)
on conflict (key) do update set value = :value, version = :version, expires = :expires
