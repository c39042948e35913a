-- The table for what ends on a day, by class.
select millrace.make_partition($1, $2::date)
