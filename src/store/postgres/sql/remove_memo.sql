-- A memo that is forgotten.
delete from millrace.memos where key = :key
