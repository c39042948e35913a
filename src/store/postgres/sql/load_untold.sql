-- Which of these tasks have not told all that wait for them, and where to go on, locked.
select {{untold}} from millrace.untold where parent = any (:ids::uuid[]) order by parent for update
