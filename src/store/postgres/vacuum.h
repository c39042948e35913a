// Removes dead rows where the server's own vacuum comes too late: it looks once per minute, and in
// a minute a busy queue leaves millions.
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
#include "store/postgres/throttle.h"

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
  // The table that needs a vacuum most; nullopt: none does.
  postgres::Answer<std::optional<std::string>> most_worn();
  bool wait();

  const postgres::ConnectOptions options_;
  Clock& clock_;
  const std::chrono::milliseconds every_;
  Throttle throttle_;                         // the thread's
  std::map<std::string, std::int64_t> dead_;  // the thread's: rows left last time, by table

  Mutex mutex_;
  Condition changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<postgres::Connection> connection_;  // the thread's; replaced under mutex_

  std::thread thread_;
};

}  // namespace millrace::store_postgres
