-- The version of the settings of queues. First in its transaction, and so the place for what the others
-- need: a plan made while a table was small must not read all of it once it is large.
select version, set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)
  from millrace.settings
