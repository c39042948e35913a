-- Edges from a task to those that wait for it, the newest of these first.
select {{edge}} from millrace.edges
 where parent = :parent::uuid and edge < :below::bigint and edge >= :from::bigint
 order by edge desc limit :most::bigint
