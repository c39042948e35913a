// The used-up part of limits, between the tables and the state machine.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "postgres/rows.h"
#include "store/book/book.h"
#include "store/embedded/state.h"
#include "store/postgres/batch.h"

namespace millrace::store_postgres {

// Queues whose rates cannot be read, with the reason. Whatever counts against them is refused, or
// they would be written over.
class UnreadableRates {
 public:
  void add(std::uint16_t queue, std::string why) { queues_.emplace(queue, std::move(why)); }
  bool has(std::uint16_t queue) const { return queues_.contains(queue); }
  // `corrupt`: "cannot put tasks: ..."
  Result<void> check(const embedded::QueueEntry* queue, std::string_view doing) const;

 private:
  std::map<std::uint16_t, std::string> queues_;
};

// Takes rows of used.sql: from now on the queues count with what all processes have used.
UnreadableRates read_used(const postgres::Rows& rows, book::Book& book);
// The rates as they are by now; nothing where the queue has none.
void write_used(const embedded::QueueEntry& queue, Batch& batch);

}  // namespace millrace::store_postgres
