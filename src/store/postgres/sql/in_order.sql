-- For statements that want the first of many rows: a plan made while there are few must not sort them.
select set_config('enable_bitmapscan', 'off', true)
