-- The first tasks that have not told all that wait for them, locked. Those that another process tells are left to it.
select {{untold}} from millrace.untold order by parent limit :most for update skip locked
