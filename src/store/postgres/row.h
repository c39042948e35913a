// A task as the tables have it, on its way to the state machine and back.
#pragma once

#include <millrace/task.h>
#include <millrace/work.h>
#include <cstdint>
#include <optional>
#include <string>

#include "postgres/array.h"
#include "postgres/params.h"
#include "postgres/rows.h"
#include "store/embedded/codec.h"
#include "store/embedded/slot.h"
#include "store/embedded/verbs.h"

namespace millrace::store_postgres {

struct Row {
  embedded::Slot slot = {};  // without its bytes, which are the fields below
  NewTask given = {};        // payload and result are empty in a head
  TimePoint created_at{};
  embedded::Notes notes = {};
  std::string worker = {};
};

// Reads a row of one of the views millrace.live_rows, live_heads, final_rows, final_heads.
Row read_row(const postgres::Rows& rows, std::size_t at);
// Reads what take.sql answers. What it has been told is not in there: now, the worker, the lease's
// end.
Row read_taken(const postgres::Rows& rows, std::size_t at);
Task task_of(const Row& row, const std::string& queue);
Lease lease_of(Row row, const std::string& queue);

// What most tasks leave out, as bytes; nullopt: nothing of it is given.
std::optional<std::string> more_of(const NewTask& task);
// "{a,\"b c\"}", as PostgreSQL reads it.
std::optional<std::string> tags_text(const std::vector<std::string>& tags);

// Where a final task goes and when.
struct Keeping {
  std::int16_t task_class = 0;
  std::optional<TimePoint> goes_at = std::nullopt;
};

// The columns of many tasks, one array each.
class MutableColumns {
 public:
  // `start_by`: nullopt in a second life.
  void push(const embedded::Slot& slot, std::optional<TimePoint> start_by,
            const embedded::Notes& notes, std::string_view worker, const Keeping& keeping);
  void add_to(postgres::Params& params) const;
  bool empty() const { return ids_.size() == 0; }

 private:
  template <class T>
  using Array = postgres::Array<T>;

  Array<Uuid> ids_;
  Array<std::int32_t> queue_;
  Array<std::int16_t> state_, priority_;
  Array<bool> cancel_requested_;
  Array<std::int32_t> version_, deliveries_, attempts_, retries_, lost_;
  Array<TimePoint> start_, updated_at_, previous_start_, started_at_, start_by_, moment_;
  Array<std::int64_t> token_;
  Array<std::string_view> worker_;
  Array<postgres::Bytes> error_code_, error_message_, notes_, result_;
  Array<std::int16_t> class_;
  Array<TimePoint> goes_at_;
};

class GivenColumns {
 public:
  void push(std::uint64_t number, const NewTask& task, TimePoint created_at);
  void add_to(postgres::Params& params) const;

 private:
  template <class T>
  using Array = postgres::Array<T>;

  Array<std::int64_t> number_;
  Array<TimePoint> created_at_;
  Array<std::int64_t> keep_for_, unique_window_;
  Array<std::int16_t> unique_scope_;
  Array<std::string_view> type_, client_id_, group_, tags_, unique_key_;
  Array<postgres::Bytes> payload_, more_;
};

}  // namespace millrace::store_postgres
