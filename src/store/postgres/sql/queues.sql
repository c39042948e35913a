-- All queues, with the version of their settings.
select {{x.queues}}
  from (select q.*, s.version from millrace.settings s left join millrace.queues q on true) x
 order by x.queue
