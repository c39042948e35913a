-- Makes the table for tasks that end on a day, by class.
select millrace.make_partition(:class_of_table, :day::date)
