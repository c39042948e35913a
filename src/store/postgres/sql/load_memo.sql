-- One memo, locked, and a new version that was never used before. Two processes that make the same
-- memo meet in the lock.
select m.value, m.version, m.expires, nextval('millrace.memo_versions') as next_version
  from (select pg_advisory_xact_lock(hashtext('millrace.memos'), hashtext(encode(:key, 'hex')))) l
  left join lateral (select value, version, expires from millrace.memos
                      where key = :key) m on true
