-- One schedule or all, by name.
select {{schedule}} from millrace.schedules where :name::text is null or name = :name order by name
