-- Numbers for tasks, in order.
select nextval('millrace.task_numbers') from generate_series(1, :count)
