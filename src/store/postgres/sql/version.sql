-- The version of the settings of queues.
select version from millrace.settings
