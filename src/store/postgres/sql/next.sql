-- The first moment after $1 at which something falls due, by itself.
select least(
  (select min(start) from (select start from millrace.tasks where state in (2, 4) and start > $1
                            order by start, number limit 1) t),
  (select min(lease_until) from (select lease_until from millrace.tasks
                                  where state = 3 and lease_until > $1
                                  order by lease_until, number limit 1) t),
  (select min(start_by) from (select start_by from millrace.tasks
                               where start_by is not null and state in (0, 1, 2, 4) and start_by > $1
                               order by start_by, number limit 1) t),
  (select min(goes_at) from (select goes_at from millrace.finished where goes_at > $1
                              order by goes_at, number limit 1) t),
  (select min(until) from (select until from millrace.holders where until > $1
                            order by until limit 1) t),
  (select min(expires) from (select expires from millrace.memos where expires > $1
                              order by expires limit 1) t))
