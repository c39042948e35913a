// One connection to a PostgreSQL server, in transactions.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postgres/connect.h"
#include "postgres/failure.h"
#include "postgres/link.h"
#include "postgres/params.h"
#include "postgres/prepared.h"
#include "postgres/rows.h"
#include "postgres/sql.h"

namespace millrace::postgres {

struct TransactOptions {
  Duration statement_timeout = Duration::zero();  // zero: the connection's
  Duration lock_timeout = Duration::zero();       // zero: as the server has it
  // False: COMMIT does not wait for the disk (synchronous_commit = off).
  bool durable = true;
  // All statements see the same moment (REPEATABLE READ).
  bool snapshot = false;
  bool read_only = false;
};

struct Statement {
  const Sql* sql = nullptr;
  const Params* params = nullptr;  // null: it has none
};

// Used by one thread at a time, but for interrupt() and abandon(). No call waits without a limit.
// After a failure that says `lost` a connection is of no use any more; after any other it is as
// before, and no transaction is open.
class Connection {
 public:
  // Failures of this are `lost`, but for a URL or a schema that makes no sense.
  static Answer<std::unique_ptr<Connection>> open(ConnectOptions options);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // A whole transaction in one round trip: BEGIN, the settings as SET LOCAL, the statements and
  // COMMIT. One answer for each statement. The first failure is returned; then nothing was done,
  // or, if it is `lost`, the outcome is unknown.
  Answer<std::vector<Rows>> transact(std::span<const Statement> statements,
                                     const TransactOptions& options = {});
  // The same for one statement.
  Answer<Rows> transact(const Sql& sql, const Params& params = {},
                        const TransactOptions& options = {});

  // A transaction of several round trips. begin() sends nothing by itself; commit() sends COMMIT
  // along with the last statements. Any failure ends the transaction; until the next begin() send()
  // and commit() then answer it again. An open transaction is forgotten by begin() and transact().
  void begin(const TransactOptions& options = {});
  Answer<std::vector<Rows>> send(std::span<const Statement> statements);
  Answer<Rows> send(const Sql& sql, const Params& params = {});
  Answer<std::vector<Rows>> commit(std::span<const Statement> statements = {});
  void rollback();

  // Any number of commands without parameters, one after the other: for migrations. In a
  // transaction they are part of it; outside of one they are one themselves. Schema as in
  // statements. `silence` is the answer_timeout for this, since indexes are not made in a moment;
  // zero: the connection's.
  Answer<void> run_script(std::string_view text, Duration silence = Duration::zero());

  // Channels to listen to from now on; there must be no pooler in between.
  Answer<void> listen(std::span<const std::string> channels);
  // Returns notifications since the last call, as soon as there are any. Empty: the time is over,
  // or interrupt() was called.
  Answer<std::vector<Notification>> wait_notification(Duration at_most);
  // Ends a wait_notification(), this one or the next; from any thread.
  void interrupt();
  // Ends whatever the connection waits for, and makes it useless; from any thread.
  void abandon();

  bool is_open() const { return link_->is_open(); }
  bool in_transaction() const { return stage_ == Stage::wanted || stage_ == Stage::open; }
  // Whether the server has said that it takes no writes: it is a standby, or an administrator has
  // made it read-only. Known from the beginning, and after each answer. Poolers do not tell.
  bool is_read_only() const { return link_->is_read_only(); }
  // Whether statements are still prepared, or a pooler was found.
  bool prepares() const { return prepared_.enabled(); }
  // For pg_terminate_backend(); behind a pooler it means nothing.
  std::int64_t backend_pid() const { return link_->backend_pid(); }
  int server_version() const { return link_->server_version(); }  // 150018: 15.18
  // "127.0.0.1:5432/app", for messages; of several addresses the one it is connected to.
  const std::string& where() const { return link_->where(); }
  const ConnectOptions& options() const { return options_; }

 private:
  enum class Stage : std::uint8_t {
    none,
    wanted,  // begin() was called, and nothing sent yet
    open,    // the server knows of it
    failed,  // and has ended it
  };
  struct Step {
    PreparedStatements::Entry* entry = nullptr;
    std::string_view name = {};  // of the statement
    bool prepares = false;       // it is prepared, not run
  };
  struct OwnSql {
    std::string name;
    std::string text;
    Sql sql;
  };

  Connection(ConnectOptions options, std::unique_ptr<Link> link);

  Answer<std::vector<Rows>> go_on(std::span<const Statement> statements, bool commit);
  // Sends all in one pipeline; returns the answers of all, in order.
  Answer<std::vector<Rows>> exchange(std::span<const Statement> statements);
  bool queue(const Statement& statement);
  Answer<std::vector<Rows>> collect();
  // Repairs what made a statement unknown to the server; returns whether all of it may be sent
  // again.
  bool recovers_from(const Failure& failure);
  void add_begin(std::vector<Statement>& to);
  Statement set_local(std::string_view setting, Duration value);
  void end_on_server();
  Duration silence() const;

  ConnectOptions options_;
  std::unique_ptr<Link> link_;
  PreparedStatements prepared_;
  std::vector<Step> steps_;  // what is under way
  TransactOptions transaction_;
  Stage stage_ = Stage::none;
  Failure failure_;  // why it failed
  std::map<std::pair<std::string_view, Duration>, OwnSql> settings_;
  int interrupted_ = -1;  // an eventfd
};

}  // namespace millrace::postgres
