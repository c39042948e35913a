// libpq's connection with a limit on every wait: sends what is queued, reads what comes back.
// Connection makes transactions of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "postgres/connect.h"
#include "postgres/failure.h"
#include "postgres/params.h"

struct pg_conn;
struct pg_result;

namespace millrace::postgres {

struct Notification {
  std::string channel;
  std::string payload;
};

struct ClearResult {
  void operator()(pg_result* result) const;
};
using RawResult = std::unique_ptr<pg_result, ClearResult>;

// Whether a server answers there and takes sessions, though perhaps not this one: waiting does not
// help against a wrong password.
bool answers(const ConnectOptions& options);

class Link {
 public:
  static Answer<std::unique_ptr<Link>> open(const ConnectOptions& options);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  // Only queues, though the socket may be written at once. False: libpq refuses, see drop().
  bool prepare(const std::string& name, const std::string& text, std::span<const Oid> types);
  bool execute_prepared(const std::string& name, const Params& params);
  bool execute(const std::string& text, const Params& params);
  bool sync();

  // The result of each thing queued, in order, the sync being the last. Results of failed
  // statements and of those after them are results, too. Writes while it waits, so that neither
  // side can be stuck with its buffers full. A failure of this is always `lost`.
  Answer<RawResult> next(Duration silence);

  // Runs commands by the simple protocol. REQUIRES: nothing is queued.
  Answer<void> run(const std::string& text, Duration silence);
  Answer<void> listen(std::span<const std::string> channels, Duration silence);
  // As Connection::wait_notification; `interrupted` is a file that becomes readable to end it.
  Answer<std::vector<Notification>> notifications(Duration at_most, int interrupted);

  bool is_open() const { return connection_ != nullptr; }
  bool in_transaction() const;  // also in a failed one; known after a sync
  bool is_read_only() const;
  std::int64_t backend_pid() const { return backend_pid_; }
  int server_version() const { return server_version_; }
  const std::string& where() const { return where_; }

  // Reads what the server said; a failure that ends the session drops the connection.
  Failure failure_of(const pg_result* result);
  // Ends the connection, whatever its state, without waiting for anything.
  Failure drop(const std::string& why);
  Failure closed() const;
  // Ends a wait for the server, this one and all that follow, by dropping the connection; from any
  // thread.
  void give_up();

 private:
  explicit Link(std::function<void(const Notice&)> notice);
  static void take_notice(void* self, const pg_result* result);

  Answer<void> wait_for_input(Duration silence);
  Answer<RawResult> get_result(Duration silence);
  void fill(const Params& params);

  std::function<void(const Notice&)> notice_;
  SystemClock clock_;
  pg_conn* connection_ = nullptr;
  const int given_up_;  // an eventfd
  std::string where_;   // "127.0.0.1:5432/app"
  std::string lost_because_;
  std::int64_t backend_pid_ = 0;
  int server_version_ = 0;
  // One statement's parameters as libpq wants them, kept for their memory.
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

}  // namespace millrace::postgres
