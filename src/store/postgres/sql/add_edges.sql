-- Edges from tasks to those that wait for them. From the first one on, puts look for such.
with first as (
  update millrace.settings set graphs = true where not graphs
)
insert into millrace.edges ({{edge}})
select * from unnest({{edge[]}})
