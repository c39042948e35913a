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
number(newest_format 1)  # of the column `more` that this program can read

# ---- Columns --------------------------------------------------------------------------------------------------------------

# Of the views live_rows, live_heads, final_rows and final_heads, in their order: what row.cc reads.
columns(row
  number id queue state priority cancel_requested version deliveries attempts retries lost start created_at updated_at
  previous_start started_at start_by moment token keep_for unique_window unique_scope worker type client_id group tags
  unique_key payload more error_code error_message notes result)

# The first of them: those before what may be large, which find.sql reads only where it is wanted.
columns(head
  number id queue state priority cancel_requested version deliveries attempts retries lost start created_at updated_at
  previous_start started_at start_by moment token keep_for unique_window unique_scope worker type client_id group tags
  unique_key)

# What take.sql answers.
columns(taken
  number id queue priority deliveries attempts retries lost start created_at previous_start start_by token keep_for
  unique_window unique_scope type client_id group tags unique_key payload more)

# What put.sql is given.
columns(plain
  id:uuid queue:integer state:smallint priority:smallint start:timestamptz type:text payload:bytea keep_for:bigint
  start_by:timestamptz client_id:text group:text tags:text more:bytea)

# What a caller has given and no call changes. Without tags, which come as text from which
# PostgreSQL makes an array.
columns(given
  number:bigint created_at:timestamptz keep_for:bigint unique_window:bigint unique_scope:smallint type:text
  client_id:text group:text unique_key:text payload:bytea more:bytea)

# What calls change. `moment` is lease_until of a task that runs and finished_at of one that is final.
columns(changed
  id:uuid queue:integer state:smallint priority:smallint cancel_requested:boolean version:integer deliveries:integer
  attempts:integer retries:integer lost:integer start:timestamptz updated_at:timestamptz previous_start:timestamptz
  started_at:timestamptz start_by:timestamptz moment:timestamptz token:bigint worker:text error_code:bytea
  error_message:bytea notes:bytea result:bytea class:smallint goes_at:timestamptz)

# Those of them that have the same name in tasks and finished, without the id.
columns(mutable
  queue state priority cancel_requested version deliveries attempts retries lost start updated_at previous_start
  started_at start_by token worker error_code error_message notes)

# The columns that done.sql leaves as they are.
columns(done
  number id queue priority deliveries attempts retries lost start created_at previous_start started_at start_by token
  keep_for unique_window unique_scope worker type client_id group tags unique_key payload more notes)

# Who holds a unique key.
columns(holder queue key task number until)

# Of queues.
columns(queue
  queue name number id description active draining removing paused_until max_concurrent max_depth put_max put_per
  process_max process_per priority weight ageing lease timeout batch_size max_lost dead_letters keep_completed_for
  keep_completed_last keep_dead_for keep_dead_last completed_class dead_class policies created_at updated_at)
