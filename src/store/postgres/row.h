// A task as the tables have it, on its way to the state machine and back.
#pragma once

#include <millrace/task.h>
#include <millrace/work.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postgres/array.h"
#include "postgres/failure.h"
#include "postgres/rows.h"
#include "store/book/row.h"
#include "store/postgres/keeping.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {

using book::Row;

// Reads a row of {{row}} (sql/words.cmake), which the views live_rows, live_heads, final_rows and
// final_heads have. A task whose `more` or `notes` cannot be read must not stop the others, so that
// is said in the row (Row::unreadable).
Row read_row(const postgres::Rows& rows, std::size_t at);
// Reads an answer of take.sql. It does not contain what take.sql was given: now, the worker, the
// lease's end.
Row read_taken(const postgres::Rows& rows, std::size_t at);
// What is answered where such a task is asked for: "cannot find a task: ...".
std::unexpected<Error> unreadable_task(const Row& row, std::string_view doing);
Task task_of(const Row& row, const std::string& queue);
Lease lease_of(Row row, const std::string& queue);

// The column keep_for, in milliseconds: the task's own rule for its state, or for when it is
// completed, which done.sql reads.
std::optional<std::int64_t> kept_for(const NewTask& task, TaskState state);
// The fields that most tasks leave out, as bytes; nullopt: none of them is given.
std::optional<std::string> more_of(const NewTask& task);
// "{a,\"b c\"}", as PostgreSQL reads it.
std::optional<std::string> tags_text(const std::vector<std::string>& tags);

void push_text(postgres::Array<std::string_view>& to, const std::optional<std::string>& text);
void push_bytes(postgres::Array<postgres::Bytes>& to, const std::optional<std::string>& bytes);

// Adds a task to the columns that calls change.
void push_changed(sql::ChangedArrays& to, const Row& row, const Keeping& keeping);

// Whole rows; tags are text from which PostgreSQL makes an array.
struct NewRows {
  sql::ChangedArrays changed;
  sql::GivenArrays given;
  postgres::Array<std::string_view> tags;

  void push(const Row& row, const Keeping& keeping);
};

}  // namespace millrace::store_postgres
