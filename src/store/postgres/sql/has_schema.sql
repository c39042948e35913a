-- Whether the schema is there, and whether this role may use it and make tables in it.
select n.oid is not null,
       n.oid is not null and has_schema_privilege(n.oid, 'usage'),
       n.oid is not null and has_schema_privilege(n.oid, 'create')
  from (select to_regnamespace('"millrace"') as oid) n
