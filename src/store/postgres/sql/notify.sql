-- Tells whoever listens.
select pg_notify(:channel, :words)
