# The words that files of SQL write as {{word}}; cmake/sql.cmake explains them. words.cc proves that
# the numbers are those of core.

# ---- States, as include/millrace/task.h numbers them ----------------------------------------------------------------------

number(created 0)
number(queued 1)
number(delayed 2)
number(processing 3)
number(retrying 4)
number(completed 5)
number(failed 6)
number(dead 7)
number(cancelled 8)

numbers(waiting_states created queued delayed retrying)
numbers(ready_states queued delayed retrying)  # from which a task whose moment has come is taken
numbers(later_states delayed retrying)         # which a task leaves when its moment has come
numbers(live_states created queued delayed processing retrying)
numbers(final_states completed failed dead cancelled)
numbers(dead_letter_states failed dead)

# Counters beside the states: finished tasks that say themselves how long they stay.
number(own_finished 9)
number(own_dead 10)

# ---- Other numbers --------------------------------------------------------------------------------------------------------

number(lowest_priority 0)
number(highest_priority 9)
number(until_started 0)  # a scope of unique keys
number(put_rate 0)       # kinds of rates
number(process_rate 1)
number(newest_format 2)  # of the columns `more` and `notes` that this program can read
number(most_lines 20000)  # of counters that are summed up at once
number(most_miscounts 100)  # that are shown

# Where finished tasks go (keeping.h). A class above row_by_row, for_ever apart, is a number of days.
number(kept_nowhere -1)
number(row_by_row 0)
number(for_ever 32767)

# Advisory locks that are not those of a queue, whose numbers are not negative. -1 is that of tables of days, in
# 0001_tables.sql.
number(summing -2)
number(migrating -3)
number(removing_queues -4)
number(pruning -5)
number(restoring -6)

# The token of a lease: 63 bits that cannot be guessed, since workers that know other tokens must not settle it.
set(word_new_token "uuid_hash_extended(gen_random_uuid(), 0) & 9223372036854775807")

# How much of the bytes that one take may give out a task has.
set(word_taken_bytes "octet_length(t.payload) + coalesce(octet_length(t.checkpoint), 0) + coalesce(octet_length(t.answer), 0)")

# The first bytes that only newer programs can read are not less than this one.
set(word_newer_formats "set_byte('\\x00', 0, ${word_newest_format} + 1)")

# ---- Columns --------------------------------------------------------------------------------------------------------------

# Of the views live_rows, live_heads, final_rows and final_heads, in their order: what row.cc reads.
set(brief_columns
  number id queue state priority cancel_requested version deliveries attempts retries lost start created_at updated_at
  previous_start started_at start_by moment token keep_for unique_window unique_scope worker type client_id group tags
  unique_key payload more error_code error_message notes result)
columns(row ${brief_columns} checkpoint answer waits)
columns(brief ${brief_columns})  # for lists that are not full

# The first of them: those before what may be large, which find.sql reads only where it is wanted.
columns(head
  number id queue state priority cancel_requested version deliveries attempts retries lost start created_at updated_at
  previous_start started_at start_by moment token keep_for unique_window unique_scope worker type client_id group tags
  unique_key)

# The filters of list.sql, over those columns.
set(word_fits "(:type::bytea is null or convert_to(type, 'UTF8') = :type)
       and (:client_id::bytea is null or convert_to(coalesce(client_id, ''), 'UTF8') = :client_id)
       and (:group::bytea is null or convert_to(coalesce(\"group\", ''), 'UTF8') = :group)
       and (:tag::bytea is null or exists (select from unnest(tags) as t(tag)
                                            where convert_to(t.tag, 'UTF8') = :tag))
       and (:priority::smallint is null or priority = :priority)
       and (:created_from::timestamptz is null or created_at >= :created_from)
       and (:created_until::timestamptz is null or created_at < :created_until)")

# What take.sql answers.
columns(taken
  number id queue priority deliveries attempts retries lost start created_at previous_start start_by token keep_for
  unique_window unique_scope type client_id group tags unique_key payload more checkpoint answer children)

# What put.sql is given, without tags, which come as text from which PostgreSQL makes an array.
columns(plain
  id:uuid queue:integer state:smallint priority:smallint start:timestamptz type:text payload:bytea keep_for:bigint
  start_by:timestamptz client_id:text group:text more:bytea)

# What a caller has given and no call changes, without tags as well.
columns(given
  number:bigint created_at:timestamptz keep_for:bigint unique_window:bigint unique_scope:smallint type:text
  client_id:text group:text unique_key:text payload:bytea more:bytea)

# The same without keep_for, in which a task has its own rule for the end that it has come to.
columns(stays
  number created_at unique_window unique_scope type client_id group unique_key payload more)

# What calls change. `moment` is lease_until of a task that runs and finished_at of one that is final.
columns(changed
  id:uuid queue:integer state:smallint priority:smallint cancel_requested:boolean version:integer deliveries:integer
  attempts:integer retries:integer lost:integer start:timestamptz updated_at:timestamptz previous_start:timestamptz
  started_at:timestamptz start_by:timestamptz moment:timestamptz token:bigint worker:text error_code:bytea
  error_message:bytea notes:bytea result:bytea checkpoint:bytea answer:bytea waits:bytea orphaned:boolean class:smallint
  goes_at:timestamptz own_keep:bigint)

# Those of them that have the same name in tasks and finished, without the id.
columns(mutable
  queue state priority cancel_requested version deliveries attempts retries lost start updated_at previous_start
  started_at start_by token worker error_code error_message notes)

# The columns that done.sql leaves as they are.
columns(done
  number id queue priority deliveries attempts retries lost start created_at previous_start started_at start_by token
  keep_for unique_window unique_scope worker type client_id group tags unique_key payload more notes)

# Those that change of a finished task.
columns(noted queue version updated_at error_code error_message notes class goes_at)

# The holders of unique keys.
columns(holder queue:integer key:text task:uuid number:bigint until:timestamptz)

# From tasks to those that wait for them, and where those are that have not been told.
columns(edge parent:uuid edge:bigint child:uuid)
columns(untold parent:uuid next:bigint)

# Of queues.
set(queue_columns
  queue name number id description active draining removing paused_until max_concurrent max_depth put_max put_per
  process_max process_per priority weight ageing lease timeout batch_size max_lost dead_letters keep_completed_for
  keep_completed_last keep_dead_for keep_dead_last completed_class dead_class max_task_size policies created_at
  updated_at)
columns(queue ${queue_columns})
list(TRANSFORM queue_columns PREPEND ":" OUTPUT_VARIABLE word_queue_values)
list(JOIN word_queue_values ", " word_queue_values)  # the parameters of put_queue.sql
columns(queues ${queue_columns} version)             # what queues.sql answers

# ---- Answers ----------------------------------------------------------------------------------------------------------------

columns(added id number)
columns(refused id state token)
columns(used queue waiting running puts takes)
columns(counts queue state priority count)
columns(oldest queue start)
columns(removable id number)
columns(released queue priority start count)
columns(pruned count last)
columns(end place finished_at)
columns(partition class day)
columns(flushed boot demoted)
columns(schedule schedule name)
columns(memo key value version expires)
columns(loaded value version expires next_version)
columns(totals queues unfinished finished schedules memos)
columns(miscount queue state priority counted there)
columns(strays orphans twins unreadable)
columns(graph edges loose unflagged untold)
columns(worn name dead live)
columns(server
  version_text version standby encoding fsync full_page_writes synchronous_commit has_standbys wal_writer_delay role
  database pid)
