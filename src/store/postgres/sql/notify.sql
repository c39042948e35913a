-- Notifies the listening processes.
select pg_notify(:channel, :words)
