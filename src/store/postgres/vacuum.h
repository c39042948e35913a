// Clears away the rows that changes leave behind, where the server's own vacuum comes too late for
// them: it looks once a minute, and in a minute a busy queue leaves millions.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/mutex.h"
#include "postgres/connection.h"
#include "store/postgres/pace.h"

namespace millrace::store_postgres {

class Vacuum {
 public:
  // Looks at the tables every so often.
  Vacuum(postgres::ConnectOptions options, Clock& clock,
         std::chrono::milliseconds every = std::chrono::seconds(5));
  Vacuum(const Vacuum&) = delete;
  Vacuum& operator=(const Vacuum&) = delete;
  ~Vacuum();

 private:
  void run();
  // False: the connection is lost.
  bool look();
  // The table that needs it most; nullopt: none does.
  postgres::Answer<std::optional<std::string>> most_worn();
  bool wait();

  const postgres::ConnectOptions options_;
  Clock& clock_;
  const std::chrono::milliseconds every_;
  Pace pace_;                                 // of the thread, as the next one
  std::map<std::string, std::int64_t> dead_;  // rows that stayed after the last time, by table

  Mutex mutex_;
  Condition changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<postgres::Connection> connection_;  // of the thread; replaced under mutex_

  std::thread thread_;
};

}  // namespace millrace::store_postgres
