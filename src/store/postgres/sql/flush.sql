-- A transaction that writes something must wait for the disk, and for all that was written before.
select pg_logical_emit_message(true, 'millrace', '')
