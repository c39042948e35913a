-- The table for what ends on a day, by class.
select millrace.make_partition(:class_of_table, :day::date)
