#include "postgres/link.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "postgres/conninfo.h"

namespace millrace::postgres {
namespace {

std::string field_of(const pg_result* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text == nullptr ? std::string() : std::string(text);
}

int milliseconds_until(std::chrono::nanoseconds until, std::chrono::nanoseconds now) {
  const auto left = std::chrono::ceil<Duration>(until - now);
  return static_cast<int>(std::clamp<Duration::rep>(left.count(), 0, 1'000'000));
}

// The parameters as libpq takes them. They point into what they are made of.
struct Words {
  explicit Words(const ConnectInfo& info) {
    for (const auto& [keyword, value] : info.words) {
      keywords.push_back(keyword.c_str());
      values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
  }
  std::vector<const char*> keywords;
  std::vector<const char*> values;
};

}  // namespace

void ClearResult::operator()(pg_result* result) const {
  PQclear(result);
}

bool answers(const ConnectOptions& options) {
  const auto info = connect_info(options);
  if (!info) return false;
  const Words words(*info);
  return PQpingParams(words.keywords.data(), words.values.data(), 1) == PQPING_OK;
}

Answer<std::unique_ptr<Link>> Link::open(const ConnectOptions& options) {
  const auto info = connect_info(options);
  if (!info) return std::unexpected(info.error());
  const Words words(*info);
  std::unique_ptr<Link> link(new Link(options.notice));
  link->where_ = info->where;
  // The blocking call, since only it tries the next address after connect_timeout.
  link->connection_ = PQconnectdbParams(words.keywords.data(), words.values.data(), 1);
  if (link->connection_ == nullptr) return std::unexpected(link->drop("no memory"));
  if (PQstatus(link->connection_) != CONNECTION_OK) {
    const bool password = PQconnectionNeedsPassword(link->connection_) != 0;
    Failure failure = link->drop(one_line(PQerrorMessage(link->connection_)));
    if (password) failure.message += "; the URL has no password";
    return std::unexpected(std::move(failure));
  }
  PQsetNoticeReceiver(link->connection_, &Link::take_notice, link.get());
  if (PQsetnonblocking(link->connection_, 1) != 0 || PQenterPipelineMode(link->connection_) == 0) {
    return std::unexpected(link->drop(one_line(PQerrorMessage(link->connection_))));
  }
  if (info->has_choice) {
    link->where_ = fmt::format("{}:{}/{}", PQhost(link->connection_), PQport(link->connection_),
                               PQdb(link->connection_));
  }
  link->backend_pid_ = PQbackendPID(link->connection_);
  link->server_version_ = PQserverVersion(link->connection_);
  return link;
}

Link::Link(std::function<void(const Notice&)> notice)
    : notice_(std::move(notice)), given_up_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Link::~Link() {
  drop("closed");
  if (given_up_ >= 0) close(given_up_);
}

void Link::give_up() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(given_up_, &one, sizeof(one));
}

Failure Link::drop(const std::string& why) {
  if (connection_ != nullptr) {
    PQfinish(connection_);
    connection_ = nullptr;
  }
  lost_because_ = why;
  return closed();
}

Failure Link::closed() const {
  return {.message = fmt::format("no connection to PostgreSQL at {}: {}", where_, lost_because_),
          .lost = true};
}

void Link::take_notice(void* self, const pg_result* result) {
  const auto& tell = static_cast<Link*>(self)->notice_;
  if (!tell) return;
  tell({.severity = field_of(result, PG_DIAG_SEVERITY_NONLOCALIZED),
        .state = field_of(result, PG_DIAG_SQLSTATE),
        .message = one_line(field_of(result, PG_DIAG_MESSAGE_PRIMARY))});
}

Failure Link::failure_of(const pg_result* result) {
  Failure failure{.state = field_of(result, PG_DIAG_SQLSTATE),
                  .message = one_line(field_of(result, PG_DIAG_MESSAGE_PRIMARY))};
  // The detail of these is a whole row, which must not be shown to others.
  const bool shows_row = failure.state == "23502" || failure.state == "23514";
  if (const std::string detail = one_line(field_of(result, PG_DIAG_MESSAGE_DETAIL));
      !detail.empty() && !shows_row) {
    failure.message += ": " + detail;
  }
  if (failure.message.empty()) failure.message = one_line(PQresultErrorMessage(result));
  const std::string severity = field_of(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity == "FATAL" || severity == "PANIC" || PQstatus(connection_) == CONNECTION_BAD) {
    const Failure lost = drop(failure.message);
    failure.message = lost.message;
    failure.lost = true;
  }
  return failure;
}

void Link::fill(const Params& params) {
  values_.clear();
  lengths_.clear();
  formats_.assign(params.size(), 1);
  for (std::size_t i = 0; i < params.size(); ++i) {
    const bool null = params.is_null(i);
    const std::string_view value = null ? std::string_view() : params.value(i);
    // A null pointer is NULL, and an empty value has a pointer.
    values_.push_back(null ? nullptr : value.data());
    lengths_.push_back(static_cast<int>(value.size()));
  }
}

bool Link::prepare(const std::string& name, const std::string& text, std::span<const Oid> types) {
  return PQsendPrepare(connection_, name.c_str(), text.c_str(), static_cast<int>(types.size()),
                       types.data()) != 0;
}

bool Link::execute_prepared(const std::string& name, const Params& params) {
  fill(params);
  return PQsendQueryPrepared(connection_, name.c_str(), static_cast<int>(params.size()),
                             values_.data(), lengths_.data(), formats_.data(), 1) != 0;
}

bool Link::execute(const std::string& text, const Params& params) {
  fill(params);
  return PQsendQueryParams(connection_, text.c_str(), static_cast<int>(params.size()),
                           params.types().data(), values_.data(), lengths_.data(), formats_.data(),
                           1) != 0;
}

bool Link::sync() {
  return PQpipelineSync(connection_) != 0;
}

bool Link::in_transaction() const {
  const PGTransactionStatusType status =
      connection_ == nullptr ? PQTRANS_IDLE : PQtransactionStatus(connection_);
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

bool Link::is_read_only() const {
  const auto is_on = [this](const char* setting) {
    const char* value = PQparameterStatus(connection_, setting);
    return value != nullptr && std::string_view(value) == "on";
  };
  return connection_ != nullptr &&
         (is_on("in_hot_standby") || is_on("default_transaction_read_only"));
}

Answer<void> Link::wait_for_input(Duration silence) {
  auto until = clock_.steady() + silence;
  for (;;) {
    const int unwritten = PQflush(connection_);
    if (unwritten < 0) return std::unexpected(drop(one_line(PQerrorMessage(connection_))));
    std::array<pollfd, 2> files{{{.fd = PQsocket(connection_), .events = POLLIN, .revents = 0},
                                 {.fd = given_up_, .events = POLLIN, .revents = 0}}};
    pollfd& socket = files[0];
    if (unwritten != 0) socket.events |= POLLOUT;
    const int left = milliseconds_until(until, clock_.steady());
    if (left == 0) {
      return std::unexpected(drop(fmt::format("no answer within {} ms", silence.count())));
    }
    if (poll(files.data(), files.size(), left) < 0) {
      if (errno == EINTR) continue;
      return std::unexpected(drop(std::strerror(errno)));
    }
    if (files[1].revents != 0) return std::unexpected(drop("the caller gave it up"));
    if ((socket.revents & ~POLLOUT) != 0) break;
    if (socket.revents != 0) until = clock_.steady() + silence;  // the server is slow, not silent
  }
  // The last words of a server that ends are still to be read.
  if (PQconsumeInput(connection_) == 0 && PQisBusy(connection_) != 0) {
    return std::unexpected(drop(one_line(PQerrorMessage(connection_))));
  }
  return {};
}

Answer<RawResult> Link::get_result(Duration silence) {
  if (connection_ == nullptr) return std::unexpected(closed());
  while (PQisBusy(connection_) != 0) {
    if (const auto waited = wait_for_input(silence); !waited) {
      return std::unexpected(waited.error());
    }
  }
  return RawResult(PQgetResult(connection_));
}

Answer<RawResult> Link::next(Duration silence) {
  auto result = get_result(silence);
  if (!result) return result;
  if (!*result) return std::unexpected(drop("libpq has no result where there must be one"));
  if (PQresultStatus(result->get()) == PGRES_PIPELINE_SYNC) return result;
  // A null ends each of them.
  const auto end = get_result(silence);
  if (!end) return std::unexpected(end.error());
  if (*end) return std::unexpected(drop("a statement had more than one result"));
  return result;
}

Answer<void> Link::run(const std::string& text, Duration silence) {
  if (connection_ == nullptr) return std::unexpected(closed());
  if (PQexitPipelineMode(connection_) == 0 || PQsendQuery(connection_, text.c_str()) == 0) {
    return std::unexpected(drop(one_line(PQerrorMessage(connection_))));
  }
  Answer<void> answer;
  for (;;) {
    const auto result = get_result(silence);
    if (!result) return std::unexpected(answer ? result.error() : answer.error());
    if (!*result) break;
    if (PQresultStatus(result->get()) == PGRES_FATAL_ERROR && answer) {
      answer = std::unexpected(failure_of(result->get()));
      if (answer.error().lost) return answer;
    }
  }
  if (PQenterPipelineMode(connection_) == 0) {
    return std::unexpected(drop(one_line(PQerrorMessage(connection_))));
  }
  return answer;
}

Answer<void> Link::listen(std::span<const std::string> channels, Duration silence) {
  if (connection_ == nullptr) return std::unexpected(closed());
  std::string text;
  for (const std::string& channel : channels) {
    const std::unique_ptr<char, decltype(&PQfreemem)> quoted(
        PQescapeIdentifier(connection_, channel.data(), channel.size()), &PQfreemem);
    if (!quoted) {
      return std::unexpected(Failure{.message = one_line(PQerrorMessage(connection_))});
    }
    text += fmt::format("listen {};", quoted.get());
  }
  return run(text, silence);
}

Answer<std::vector<Notification>> Link::notifications(Duration at_most, int interrupted) {
  const auto until = clock_.steady() + at_most;
  std::vector<Notification> came;
  for (;;) {
    if (connection_ == nullptr) return std::unexpected(closed());
    if (PQconsumeInput(connection_) == 0) {
      return std::unexpected(drop(one_line(PQerrorMessage(connection_))));
    }
    while (PGnotify* one = PQnotifies(connection_)) {
      came.push_back({.channel = one->relname, .payload = one->extra});
      PQfreemem(one);
    }
    if (!came.empty()) return came;
    const int left = milliseconds_until(until, clock_.steady());
    std::array<pollfd, 2> files{{{.fd = PQsocket(connection_), .events = POLLIN, .revents = 0},
                                 {.fd = interrupted, .events = POLLIN, .revents = 0}}};
    if (poll(files.data(), files.size(), left) < 0 && errno != EINTR) {
      return std::unexpected(drop(std::strerror(errno)));
    }
    if (files[1].revents != 0) {
      std::uint64_t count = 0;
      while (read(interrupted, &count, sizeof(count)) > 0) {
      }
      return came;
    }
    if (files[0].revents == 0 && left == 0) return came;
  }
}

}  // namespace millrace::postgres
