-- Edges from these tasks to those that wait for them, in the order of :parents and then of the edges, with the first
-- that is beyond what may be told now: those from there on are for later.
--   :parents   :nexts, where to begin with each   :each, how many of one at most   :most, how many at most of
--   all; the first edge of every task is among them
select {{x.edge}}
  from (select e.parent, e.edge, e.child, p.place, row_number() over (order by p.place, e.edge) as nth,
               row_number() over (partition by p.place order by e.edge) as of_parent
          from unnest(:parents::uuid[], :nexts::bigint[]) with ordinality as p(parent, next, place)
         cross join lateral (select parent, edge, child from millrace.edges e
                              where e.parent = p.parent and e.edge >= p.next
                              order by e.edge limit :each) e) x
 where nth <= :most or of_parent = 1
 order by place, edge
