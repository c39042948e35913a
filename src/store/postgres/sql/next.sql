-- The first moment after :now at which something falls due by itself.
select least(
  (select min(start) from (select start from millrace.tasks
                            where state in ({{later_states}}) and start > :now
                            order by start, number limit 1) t),
  (select min(start) from (select start from millrace.tasks
                            where state = {{created}} and deliveries > 0 and start < 'infinity'
                              and start > :now
                            order by start, number limit 1) t),
  (select min(lease_until) from (select lease_until from millrace.tasks
                                  where state = {{processing}} and lease_until > :now
                                  order by lease_until, number limit 1) t),
  (select min(start_by) from (select start_by from millrace.tasks
                               where start_by is not null and state in ({{waiting_states}})
                                 and start_by > :now
                               order by start_by, number limit 1) t),
  (select min(goes_at) from (select goes_at from millrace.finished where goes_at > :now
                              order by goes_at, number limit 1) t),
  (select min(until) from (select until from millrace.holders where until > :now
                            order by until limit 1) t),
  (select min(expires) from (select expires from millrace.memos where expires > :now
                              order by expires limit 1) t))
