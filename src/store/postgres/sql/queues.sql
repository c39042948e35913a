-- All queues, with the version of their settings.
select {{q.queue}}, s.version
  from millrace.settings s left join millrace.queues q on true
 order by q.queue
