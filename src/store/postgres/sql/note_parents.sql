-- Tasks that others wait for from now on; the caller has locked those that are there.
update millrace.tasks set children = true where id = any (:ids::uuid[]) and children is null
