-- For whoever changes queues: one at a time. Returns the version before the change.
update millrace.settings set version = version + 1 returning version - 1
