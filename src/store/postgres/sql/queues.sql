-- All queues, with the version of their settings.
select s.version, q.*
  from millrace.settings s left join millrace.queues q on true
 order by q.queue
