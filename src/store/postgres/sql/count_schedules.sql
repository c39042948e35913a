-- How many schedules there are; at most some thousands.
select count(*) from millrace.schedules
