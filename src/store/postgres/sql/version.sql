-- The version of the settings of queues. First in its transaction, and so the place for settings
-- that the other statements need: a plan made while a table was small must not read all of it once
-- it is large, and no plan is to be made for each call. Statements that look up many given rows say
-- "= any(array[x])" instead of "= x". The planner believes for long that a table which was vacuumed
-- while empty is empty; with "=" it would then walk the whole index, for a merge, instead of
-- looking up each row.
select millrace.hold_queues(), set_config('enable_seqscan', 'off', true),
       set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)
