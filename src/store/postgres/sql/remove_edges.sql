-- Edges that are told, or whose tasks no longer wait.
delete from millrace.edges e using unnest(:parents::uuid[], :edges::bigint[]) as g(parent, edge)
 where e.parent = any(array[g.parent]) and e.edge = any(array[g.edge])
