-- The version of the settings of queues. First in its transaction, and so the place for what the others
-- need: a plan made while a table was small must not read all of it once it is large, and no plan is
-- to be made for each call.
-- Those that look up many rows by what they are given say "= any(array[x])" instead of "= x". A table
-- that was vacuumed while it was empty is believed to be so for long; with "=" the plan would then be to
-- walk the whole index, for a merge, instead of looking up each.
select millrace.hold_queues(), set_config('enable_seqscan', 'off', true),
       set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)
