#include "store/postgres/vacuum.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/mutex.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

// A table of hundreds of gigabytes takes long to vacuum.
constexpr Duration longest_vacuum = std::chrono::hours(1);
// A quarter of the time at most. With much less it cannot keep up: the longer the pause, the larger
// the table, and the longer the pause after that.
constexpr int share = 4;
// This many new dead rows are worth a vacuum, or a fifth of the live ones.
constexpr std::int64_t worth_it = 50'000;

}  // namespace

Vacuum::Vacuum(postgres::ConnectOptions options, Clock& clock, std::chrono::milliseconds every)
    : options_(std::move(options)),
      clock_(clock),
      every_(every),
      throttle_(every, share),
      thread_([this] { run(); }) {}

Vacuum::~Vacuum() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
    if (connection_) connection_->abandon();  // the server finishes what it has begun
  }
  thread_.join();
}

void Vacuum::run() {
  while (wait()) {
    if (!throttle_.may_begin(clock_.steady())) continue;
    if (!connection_) {
      auto opened = postgres::Connection::open(options_);
      if (!opened) continue;
      const Lock lock(mutex_);
      if (stopping_) return;
      connection_ = std::move(*opened);
    }
    if (!look() || connection_->is_read_only()) {
      const Lock lock(mutex_);
      connection_.reset();
    }
  }
}

bool Vacuum::wait() {
  const Lock lock(mutex_);
  changed_.wait_for(mutex_, every_, [this]() REQUIRES(mutex_) { return stopping_; });
  return !stopping_;
}

bool Vacuum::look() {
  const auto table = most_worn();
  if (!table) return !table.error().lost;
  if (!*table) return true;
  const auto began = clock_.steady();
  // A table that another session already vacuums is skipped, which is as good. No space is given
  // back to the disk: the table will need it again, and other sessions would have to wait.
  const auto done = connection_->run_script(
      fmt::format("vacuum (skip_locked, truncate off) millrace.{}", **table), longest_vacuum);
  throttle_.ended(began, clock_.steady());
  if (!done) return !done.error().lost;
  dead_[**table] = -1;  // the next look tells how many rows stayed
  return true;
}

postgres::Answer<std::optional<std::string>> Vacuum::most_worn() {
  auto rows = connection_->transact(sql::dead_rows, {}, {.read_only = true});
  if (!rows) return std::unexpected(std::move(rows.error()));
  std::optional<std::string> worst;
  std::int64_t most = 0;
  std::map<std::string, std::int64_t> stayed;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    using At = sql::WornColumns;
    auto table = rows->get<std::string>(i, At::name);
    const auto dead = rows->get<std::int64_t>(i, At::dead);
    const auto live = rows->get<std::int64_t>(i, At::live);
    const auto known = dead_.find(table);
    std::int64_t& before = stayed[table];
    // Fewer than before: another session has vacuumed the table.
    if (known != dead_.end()) before = known->second < 0 ? dead : std::min(known->second, dead);
    if (dead - before <= std::max(worth_it, live / 5) || dead - before <= most) continue;
    most = dead - before;
    worst = std::move(table);
  }
  dead_ = std::move(stayed);
  return worst;
}

}  // namespace millrace::store_postgres
