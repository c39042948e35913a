-- Tasks by their ids, in any order.
-- variants: find, find_heads. The second leaves out payload, result, log and history.
--only find
select {{row}} from millrace.live_rows where id = any (:ids::uuid[])
union all
select {{row}} from millrace.final_rows where id = any (:ids::uuid[])
--end find
--only find_heads
select {{row}} from millrace.live_heads where id = any (:ids::uuid[])
union all
select {{row}} from millrace.final_heads where id = any (:ids::uuid[])
--end find_heads
