-- Edges between tasks, and what should not be: edges to a task that is not there, tasks that do not know that
-- others wait for them, ends that are yet to be told of a task that has not ended.
select (select count(*) from millrace.edges) as edges,
       (select count(*) from millrace.edges e
         where not exists (select from millrace.tasks t where t.id = e.child and t.number = e.edge >> 10
                              and t.waits is not null and t.orphaned is not true)) as loose,
       (select count(*) from millrace.tasks t
         where t.children is null and exists (select from millrace.edges e where e.parent = t.id)) as unflagged,
       (select count(*) from millrace.untold) as untold
