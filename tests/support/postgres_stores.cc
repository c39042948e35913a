#include "tests/support/postgres_stores.h"

#include <stdexcept>
#include <utility>

#include "core/clock.h"
#include "postgres/connection.h"
#include "store/postgres/postgres.h"
#include "store/store.h"
#include "tests/support/shared_postgres.h"

namespace millrace::test {
namespace {

// A program may ask for a store a thousand times; making the tables anew takes longer.
constexpr const char* empty_all =
    "truncate millrace.queues, millrace.rates, millrace.tasks, millrace.finished, "
    "millrace.holders, "
    "millrace.count_changes, millrace.counts, millrace.schedules, millrace.memos, millrace.edges, "
    "millrace.untold;"
    "update millrace.settings set version = version + 1;";

}  // namespace

std::unique_ptr<Store> open_postgres_again() {
  static SystemClock clock;
  auto store = open_postgres({.url = shared_postgres().url()}, clock);
  if (!store) throw std::runtime_error(store.error().message);
  return std::move(*store);
}

std::unique_ptr<Store> open_fresh_postgres() {
  static const bool made = (open_postgres_again(), true);
  static auto connection = postgres::Connection::open({.url = shared_postgres().url()});
  if (!made || !connection) throw std::runtime_error(connection.error().message);
  if (auto emptied = (*connection)->run_script(empty_all); !emptied) {
    throw std::runtime_error(emptied.error().message);
  }
  return open_postgres_again();
}

}  // namespace millrace::test
