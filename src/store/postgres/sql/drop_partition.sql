-- Removes a table whose time is over; how many tasks were in it.
select millrace.drop_partition($1, $2::date)
