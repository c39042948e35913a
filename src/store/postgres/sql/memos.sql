-- Memos by prefix, in order of their keys.
--   :from this key on   :after this one   :before this one, if any   :now   :most, how many at most
select {{memo}} from millrace.memos
 where key >= :from and key > :after and (:before::bytea is null or key < :before)
   and (expires is null or expires > :now)
 order by key limit :most
