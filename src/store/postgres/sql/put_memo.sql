-- A memo as it is from now on.
insert into millrace.memos ({{memo}}) values (:key, :value, :version, :expires)
on conflict (key) do update set value = :value, version = :version, expires = :expires
