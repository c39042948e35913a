-- Adds unique keys that no task held. If another process took a key meanwhile, this fails, and the
-- call begins again.
insert into millrace.holders ({{holder}})
select * from unnest({{holder[]}})
