-- Lets one process at a time change queues. Returns the version before the change.
update millrace.settings set version = version + 1 returning version - 1
