-- Removes a table whose time is over. Returns how many tasks were in it.
select millrace.drop_partition(:class_of_table, :day::date)
