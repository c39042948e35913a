-- As version.sql, for statements that commit in the same round trip: with another :version it
-- fails, and nothing of the transaction is done.
select millrace.same_version(:version), set_config('enable_seqscan', 'off', true),
       set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)
