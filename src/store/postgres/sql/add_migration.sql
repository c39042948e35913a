-- Notes that a migration was applied.
insert into millrace.migrations (version, name) values ($1, $2)
