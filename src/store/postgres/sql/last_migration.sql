-- The version that the tables have.
select coalesce(max(version), 0) from millrace.migrations
