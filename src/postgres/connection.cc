#include "postgres/connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/seed.h"
#include "postgres/schema.h"

namespace millrace::postgres {
namespace {

// Names that no file of SQL can have.
constexpr std::array<Sql, 4> begins{{
    {"$begin", "begin"},
    {"$begin_read_only", "begin read only"},
    {"$begin_snapshot", "begin isolation level repeatable read"},
    {"$begin_snapshot_read_only", "begin isolation level repeatable read read only"},
}};
constexpr Sql commit_sql{"$commit", "commit"};
constexpr Sql rollback_sql{"$rollback", "rollback"};
constexpr Sql not_durable_sql{"$not_durable", "set local synchronous_commit = off"};

const Params no_params;

// The server takes messages of a gibibyte.
constexpr std::size_t most_bytes = (std::size_t{1} << 30) - 65536;
constexpr std::size_t most_params = 65535;

const Params& params_of(const Statement& statement) {
  return statement.params == nullptr ? no_params : *statement.params;
}

Answer<void> check_size(const Statement& statement) {
  const Params& params = params_of(statement);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!params.is_null(i)) bytes += params.value(i).size();
  }
  if (bytes <= most_bytes && params.size() <= most_params) return {};
  return std::unexpected(Failure{
      .state = "54000",
      .message = fmt::format("the {} parameters of the statement {} take {} bytes; {} "
                             "parameters and {} bytes are allowed",
                             params.size(), statement.sql->name, bytes, most_params, most_bytes)});
}

}  // namespace

Answer<std::unique_ptr<Connection>> Connection::open(ConnectOptions options) {
  if (const auto fits = check_schema(options.schema); !fits) {
    return std::unexpected(Failure{.message = fits.error().message});
  }
  auto link = Link::open(options);
  if (!link) return std::unexpected(link.error());
  return std::unique_ptr<Connection>(new Connection(std::move(options), std::move(*link)));
}

Connection::Connection(ConnectOptions options, std::unique_ptr<Link> link)
    : options_(std::move(options)),
      link_(std::move(link)),
      prepared_(options_.prepare, options_.schema, random_seed()),
      interrupted_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Connection::~Connection() {
  if (interrupted_ >= 0) close(interrupted_);
}

Answer<std::vector<Rows>> Connection::transact(std::span<const Statement> statements,
                                               const TransactOptions& options) {
  begin(options);
  return commit(statements);
}

Answer<Rows> Connection::transact(const Sql& sql, const Params& params,
                                  const TransactOptions& options) {
  const Statement one{.sql = &sql, .params = &params};
  auto rows = transact(std::span(&one, 1), options);
  if (!rows) return std::unexpected(rows.error());
  return std::move(rows->front());
}

void Connection::begin(const TransactOptions& options) {
  rollback();
  transaction_ = options;
  stage_ = Stage::wanted;
}

Answer<std::vector<Rows>> Connection::send(std::span<const Statement> statements) {
  return go_on(statements, false);
}

Answer<Rows> Connection::send(const Sql& sql, const Params& params) {
  const Statement one{.sql = &sql, .params = &params};
  auto rows = send(std::span(&one, 1));
  if (!rows) return std::unexpected(rows.error());
  return std::move(rows->front());
}

Answer<std::vector<Rows>> Connection::commit(std::span<const Statement> statements) {
  return go_on(statements, true);
}

void Connection::rollback() {
  if (stage_ == Stage::open) end_on_server();
  stage_ = Stage::none;
}

void Connection::end_on_server() {
  if (!link_->is_open() || !link_->in_transaction()) return;
  const Statement end{.sql = &rollback_sql};
  // A session whose transaction cannot be ended is of no use; its next user must not inherit it.
  if (!exchange(std::span(&end, 1)) && link_->is_open()) {
    link_->drop("a transaction could not be rolled back");
  }
}

Answer<std::vector<Rows>> Connection::go_on(std::span<const Statement> statements, bool commit) {
  if (stage_ == Stage::failed) return std::unexpected(failure_);
  if (stage_ == Stage::none) {
    return std::unexpected(Failure{.message = "there is no transaction; begin() comes first"});
  }
  if (const char* what = take_misread()) {
    rollback();
    failure_ = Failure{.state = std::string(unreadable_state), .message = what};
    stage_ = Stage::failed;
    return std::unexpected(failure_);
  }
  std::vector<Statement> all;
  const bool whole = stage_ == Stage::wanted;
  if (whole) add_begin(all);
  const std::size_t before = all.size();
  all.insert(all.end(), statements.begin(), statements.end());
  if (commit) all.push_back({.sql = &commit_sql});

  auto rows = exchange(all);
  if (!rows && recovers_from(rows.error()) && whole) {
    end_on_server();
    rows = exchange(all);
  }
  if (!rows) {
    end_on_server();
    failure_ = rows.error();
    stage_ = Stage::failed;
    return rows;
  }
  stage_ = commit ? Stage::none : Stage::open;
  rows->erase(rows->begin(), rows->begin() + static_cast<std::ptrdiff_t>(before));
  if (commit) rows->pop_back();
  return rows;
}

void Connection::add_begin(std::vector<Statement>& to) {
  const std::size_t which = (transaction_.snapshot ? 2 : 0) + (transaction_.read_only ? 1 : 0);
  to.push_back({.sql = &begins[which]});
  if (!transaction_.durable) to.push_back({.sql = &not_durable_sql});
  const Duration limit = transaction_.statement_timeout > Duration::zero()
                             ? transaction_.statement_timeout
                             : options_.statement_timeout;
  if (limit > Duration::zero()) to.push_back(set_local("statement_timeout", limit));
  if (transaction_.lock_timeout > Duration::zero()) {
    to.push_back(set_local("lock_timeout", transaction_.lock_timeout));
  }
}

Statement Connection::set_local(std::string_view setting, Duration value) {
  const auto [at, is_new] = settings_.try_emplace({setting, value});
  OwnSql& own = at->second;
  if (is_new) {
    own.name = fmt::format("${}_{}", setting, value.count());
    own.text = fmt::format("set local {} = {}", setting, value.count());
    own.sql = {.name = own.name, .text = own.text};
  }
  return {.sql = &own.sql};
}

Duration Connection::silence() const {
  const Duration limit = std::max(transaction_.statement_timeout, options_.statement_timeout);
  if (limit == Duration::zero()) return options_.answer_timeout;
  return std::max(options_.answer_timeout, limit + std::chrono::seconds(5));
}

bool Connection::recovers_from(const Failure& failure) {
  if (failure.lost || !prepared_.enabled()) return false;
  if (is_sign_of_pooler(failure)) {
    prepared_.give_up();
    return true;
  }
  // Most likely a table was changed after its statements were prepared ("cached plan must not
  // change result type"); any other cause fails again.
  if (failure.state == "0A000") {
    prepared_.forget();
    return true;
  }
  return false;
}

Answer<std::vector<Rows>> Connection::exchange(std::span<const Statement> statements) {
  if (!link_->is_open()) return std::unexpected(link_->closed());
  for (const Statement& statement : statements) {
    if (const auto fits = check_size(statement); !fits) return std::unexpected(fits.error());
  }
  steps_.clear();
  const bool queued =
      std::ranges::all_of(statements, [&](const Statement& one) { return queue(one); });
  // COMMIT has not been sent, so the end of the connection ends the transaction.
  if (!queued || !link_->sync()) {
    return std::unexpected(link_->drop("libpq could not take a statement (no memory?)"));
  }
  return collect();
}

bool Connection::queue(const Statement& statement) {
  const Params& params = params_of(statement);
  auto& entry = prepared_.find(*statement.sql, params.types());
  // ROLLBACK repairs a failed transaction, so it must not depend on what the server remembers.
  if (!prepared_.enabled() || statement.sql == &rollback_sql) {
    steps_.push_back({.entry = &entry, .name = statement.sql->name});
    return link_->execute(entry.text, params);
  }
  using State = PreparedStatements::Entry::State;
  if (entry.state == State::absent) {
    if (!link_->prepare(entry.name, entry.text, entry.types)) return false;
    entry.state = State::queued;
    steps_.push_back({.entry = &entry, .name = statement.sql->name, .prepares = true});
  }
  steps_.push_back({.entry = &entry, .name = statement.sql->name});
  return link_->execute_prepared(entry.name, params);
}

Answer<std::vector<Rows>> Connection::collect() {
  using State = PreparedStatements::Entry::State;
  std::vector<Rows> rows;
  std::optional<Failure> failure;
  for (const Step& step : steps_) {
    auto result = link_->next(silence());
    if (!result) return std::unexpected(result.error());
    const ExecStatusType status = PQresultStatus(result->get());
    const bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    // Also in a transaction that fails later: a prepared statement stays.
    if (step.prepares) step.entry->state = good ? State::ready : State::absent;
    if (good) {
      if (!step.prepares) rows.emplace_back(result->release());
    } else if (!failure) {
      failure = link_->failure_of(result->get());
      if (!step.name.starts_with('$')) {
        failure->message += fmt::format(", in the statement {}", step.name);
      }
      if (failure->lost) return std::unexpected(std::move(*failure));
    }
  }
  const auto end = link_->next(silence());
  if (!end) return std::unexpected(end.error());
  if (PQresultStatus(end->get()) != PGRES_PIPELINE_SYNC) {
    // A pooler that has no server says why, and hangs up.
    return std::unexpected(
        link_->drop(failure ? failure->message : "answers and statements are out of step"));
  }
  if (failure) return std::unexpected(std::move(*failure));
  return rows;
}

Answer<void> Connection::run_script(std::string_view text, Duration silence) {
  const bool inside = stage_ != Stage::none;
  if (inside) {  // the transaction may still have to begin
    if (const auto begun = go_on({}, false); !begun) return std::unexpected(begun.error());
  }
  const Duration limit = silence > Duration::zero() ? silence : this->silence();
  auto answer = link_->run(with_schema(text, options_.schema), limit);
  if (!answer) {
    end_on_server();
    if (inside) {
      failure_ = answer.error();
      stage_ = Stage::failed;
    }
  }
  return answer;
}

Answer<void> Connection::listen(std::span<const std::string> channels) {
  return link_->listen(channels, silence());
}

Answer<std::vector<Notification>> Connection::wait_notification(Duration at_most) {
  return link_->notifications(at_most, interrupted_);
}

void Connection::interrupt() {
  const std::uint64_t one = 1;
  // It can only fail where it has been called 2^64 - 1 times before.
  [[maybe_unused]] const auto written = write(interrupted_, &one, sizeof(one));
}

void Connection::abandon() {
  link_->give_up();
}

}  // namespace millrace::postgres
