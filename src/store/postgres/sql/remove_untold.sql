-- Tasks that have told all.
delete from millrace.untold where parent = any (:ids::uuid[])
