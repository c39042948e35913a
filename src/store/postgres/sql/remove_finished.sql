-- Finished tasks that are gone for good.
delete from millrace.finished where id = any (:ids::uuid[])
