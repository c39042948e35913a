-- A transaction that writes something must wait for the disk, and for all that was written before. Says
-- since when the server is running without a crash.
select (select id from millrace.boots), pg_logical_emit_message(true, 'millrace', '')
