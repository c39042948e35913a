-- A transaction that writes something waits for the disk, and for everything written before. The
-- answer says since when the server has run without a crash, and whether it takes no writes any
-- more. In that case the statement writes nothing either, and does not wait for standbys that the
-- server may have lost.
select (select id from millrace.boots) as boot, demoted,
       case when not demoted then pg_logical_emit_message(true, 'millrace', '') end
  from (select current_setting('transaction_read_only')::boolean) as t(demoted)
