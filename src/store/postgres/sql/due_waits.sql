-- Waiting tasks past their start_by, earliest first; not those that only a newer program can read.
select {{row}} from millrace.live_rows
 where start_by is not null and state in ({{waiting_states}}) and start_by <= :now
   and (more is null or more < {{newer_formats}})
   and (notes is null or substr(notes, 1, 1) < {{newer_formats}})
 order by start_by, number limit :most
