-- Waiting and running tasks that are gone for good.
delete from millrace.tasks where id = any (:ids::uuid[])
