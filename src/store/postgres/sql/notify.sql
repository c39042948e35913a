-- Tells whoever listens.
select pg_notify($1, $2)
