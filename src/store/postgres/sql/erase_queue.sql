-- A queue that has no tasks any more, and what is kept beside it.
with keys as (delete from millrace.holders where queue = $1),
     rates as (delete from millrace.rates where queue = $1)
delete from millrace.queues where queue = $1
