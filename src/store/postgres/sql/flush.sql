-- A transaction that writes something must wait for the disk, and for all that was written before. Says
-- since when the server is running without a crash, and whether it takes no writes any more: then it writes
-- nothing either, and does not wait for standbys that it may have lost.
select (select id from millrace.boots), demoted,
       case when not demoted then pg_logical_emit_message(true, 'millrace', '') end
  from (select current_setting('transaction_read_only')::boolean) as t(demoted)
