-- Removes a queue that has no tasks any more, and what is kept beside it.
with keys as (delete from millrace.holders where queue = :queue),
     rates as (delete from millrace.rates where queue = :queue)
delete from millrace.queues where queue = :queue
