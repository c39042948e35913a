-- Memos by prefix, in order of their keys.
--   $1 from this key on   $2 after this one   $3 before this one, if any   $4 now   $5 at most
select key, value, version, expires from millrace.memos
 where key >= $1 and key > $2 and ($3::bytea is null or key < $3) and (expires is null or expires > $4)
 order by key limit $5
