-- Tasks to be cancelled because of how another one ended, in the order of their numbers; not those that only a
-- newer program can read.
select {{row}} from millrace.live_rows
 where orphaned and (more is null or more < {{newer_formats}})
   and (notes is null or substr(notes, 1, 1) < {{newer_formats}})
   and (waits is null or waits < {{newer_formats}})
 order by number limit :most
