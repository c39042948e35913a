-- Notes that a migration was applied.
insert into millrace.migrations (version, name) values (:version, :name)
