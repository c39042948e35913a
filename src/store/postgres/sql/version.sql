-- The version of the settings of queues. First in its transaction, and so the place for what the others
-- need: a plan made while a table was small must not read all of it once it is large, and no plan is
-- to be made for each call.
select version, set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),
       set_config('plan_cache_mode', 'force_generic_plan', true)
  from millrace.settings
