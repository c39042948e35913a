-- Tasks by number, newest first: one walk a queue and state, merged.
--   $1 queues   $2 states   $3 before this number   $4 from this one on   $5 how many at most
with walks as (
  select q.queue, s.state::smallint as state
    from unnest($1::integer[]) as q(queue) cross join unnest($2::smallint[]) as s(state)
), found as (
  select r.* from walks w cross join lateral (
    select * from millrace.live_heads r
     where r.queue = w.queue and r.state = w.state and r.number < $3 and r.number >= $4
     order by r.number desc limit $5) r
   where w.state < 5
  union all
  select r.* from walks w cross join lateral (
    select * from millrace.final_heads r
     where r.queue = w.queue and r.state = w.state and r.number < $3 and r.number >= $4
     order by r.number desc limit $5) r
   where w.state >= 5
)
select * from found order by number desc limit $5
