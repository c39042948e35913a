#include "api/client/http_broker.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <utility>

#include "api/client/target.h"
#include "api/wire/requests.h"
#include "core/mutex.h"
#include "core/quote.h"
#include "core/seed.h"

namespace millrace {
namespace {

// More than any answer has: 17 MiB of payloads, each byte as \u00XX.
constexpr std::size_t most_answer_bytes = std::size_t{192} << 20U;
// Most calls that wait for results or tasks.
constexpr std::size_t most_waiting = 256;
// How long the destructor waits for polls that were left.
constexpr std::chrono::seconds last_answers(2);
// The timeout of streams, which run as long as there is something to send.
constexpr std::chrono::hours longest_stream(24 * 7);
// A stream without events sends a sign of life at least every 15 s.
constexpr std::chrono::seconds longest_silence(30);
// With less time left than this, a request is not repeated.
constexpr std::chrono::milliseconds least_again(100);

// Programs with an App have AppOptions::ca_file for it, commands a flag.
constexpr const char* authority_advice =
    "; a private authority is named by the file of its certificate: --ca-file, MILLRACE_CA_FILE "
    "or, "
    "in C++, ca_file";

std::unexpected<Error> bad_url(std::string_view url, std::string_view why) {
  return fail(ErrorCode::invalid,
              fmt::format("{} is not the address of a server: {}; allowed are http://host:port and "
                          "https://host:port",
                          url.contains('@') ? "the URL" : in_quotes(url), why));
}

// The URL without a trailing slash.
Result<std::string> checked_url(std::string_view url) {
  const bool known = url.starts_with("http://") || url.starts_with("https://");
  if (!known) return bad_url(url, "it does not begin with http:// or https://");
  std::string_view host = url.substr(url.find("//") + 2);
  if (host.ends_with('/')) host.remove_suffix(1), url.remove_suffix(1);
  if (host.empty()) return bad_url(url, "it has no host");
  if (host.contains('@')) return bad_url(url, "it has a name or a password; give a key instead");
  if (host.find_first_of("/?#") != std::string_view::npos) return bad_url(url, "it has a path");
  const bool plain = std::ranges::all_of(host, [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain) return bad_url(url, "it has characters that are not allowed");
  return std::string(url);
}

Result<void> check_key(std::string_view key) {
  if (std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; })) return {};
  // The message does not show the key.
  return fail(ErrorCode::invalid,
              "the API key has spaces, line ends or other characters that no key has");
}

std::string_view host_of(std::string_view url) {
  return url.substr(url.find("//") + 2);
}

bool is_json(const outgoing::HttpReply& reply) {
  return reply.header("content-type").starts_with("application/json") ||
         reply.header("content-type").starts_with("application/problem+json");
}

std::optional<std::chrono::milliseconds> seconds_from(std::string_view text) {
  unsigned seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return std::chrono::seconds(std::min(seconds, 86'400U));
}

// The error for an answer that does not come from a Millrace server, but from a proxy or another
// program.
Error stranger(const outgoing::HttpReply& reply, std::string_view host) {
  const std::string_view type = reply.header("content-type");
  std::string message =
      fmt::format("{} answered {} with {}", host, reply.status,
                  type.empty() ? "no content type" : in_quotes(type.substr(0, type.find(';'))));
  if (reply.status == 429) {
    return {.code = ErrorCode::limited,
            .message = std::move(message),
            .retry_after = seconds_from(reply.header("retry-after"))};
  }
  if (reply.status == 413) {
    return {.code = ErrorCode::too_large, .message = std::move(message)};
  }
  if (reply.status >= 500 || reply.status == 408) {
    return {.code = ErrorCode::unavailable, .message = std::move(message)};
  }
  if (reply.status >= 300 && reply.status < 400) {
    message += fmt::format(" and redirects to {}", in_quotes(reply.header("location")));
  }
  return {.code = ErrorCode::invalid, .message = message + "; it is not a Millrace server"};
}

}  // namespace

Result<std::unique_ptr<HttpBroker>> HttpBroker::open(Clock& clock, HttpBrokerOptions options) {
  auto url = checked_url(options.url);
  if (!url) return std::unexpected(std::move(url.error()));
  if (auto good = check_key(options.key); !good) return std::unexpected(std::move(good.error()));
  options.url = std::move(*url);
  options.timeout = std::clamp<Duration>(options.timeout, Duration(1), std::chrono::hours(24));
  return std::unique_ptr<HttpBroker>(new HttpBroker(clock, std::move(options)));
}

HttpBroker::HttpBroker(Clock& clock, HttpBrokerOptions options)
    : clock_(clock),
      options_(std::move(options)),
      ids_(random_seed()),
      traits_({.name = "server"}),
      client_({.ca_file = options_.ca_file, .unknown_authority = authority_advice}),
      waiting_({.connections = most_waiting,
                .ca_file = options_.ca_file,
                .unknown_authority = authority_advice}) {}

// Tasks that a poll still brings are given back while the client can do that.
HttpBroker::~HttpBroker() {
  const Lock lock(mutex_);
  quiet_.wait_for(mutex_, last_answers, [this]() REQUIRES(mutex_) { return working_ == 0; });
}

// ---- Callers ----

CallerId HttpBroker::new_caller() {
  const Lock lock(mutex_);
  return {++last_caller_};
}

std::stop_token HttpBroker::token_of(CallerId caller) {
  if (caller == CallerId{}) return {};
  const Lock lock(mutex_);
  return callers_[caller.value].get_token();
}

// Closes the connections on which the caller waits: the server notices and drops what has not
// begun. Connections that may bring tasks stay open: if one is closed while an answer is under way,
// the server believes that the answer arrived. They end by themselves, and their tasks are given
// back.
void HttpBroker::leave(CallerId caller) {
  std::optional<std::stop_source> source;
  {
    const Lock lock(mutex_);
    const auto found = callers_.find(caller.value);
    if (found == callers_.end()) return;
    source = std::move(found->second);
    callers_.erase(found);
  }
  source->request_stop();
}

// ---- Requests ----

void HttpBroker::send(const Ask& ask, Request request, Completion<Reply> done) {
  if (ask.internal) {
    return done(
        fail(ErrorCode::invalid, "internal queues can only be used inside the server's process"));
  }
  if (ask.deadline != never && clock_.now() >= ask.deadline) {
    return done(fail(ErrorCode::unavailable, "the deadline passed before the request was sent"));
  }
  const auto until = clock_.steady() + std::min(options_.timeout, request.timeout) + request.wait;
  send_on(std::move(request), token_of(ask.caller), until, std::move(done));
}

void HttpBroker::send_on(Request request, std::stop_token stop, std::chrono::nanoseconds until,
                         Completion<Reply> done) {
  outgoing::HttpRequest http{.method = request.method, .url = options_.url + request.target};
  if (!options_.key.empty()) http.headers.emplace_back("Authorization", "Bearer " + options_.key);
  if (!request.body.empty()) http.headers.emplace_back("Content-Type", "application/json");
  http.timeout = std::chrono::ceil<Duration>(until - clock_.steady());
  http.most = most_answer_bytes;
  if (request.lines) {
    http.more = std::move(request.lines);
    http.headers.emplace_back("Content-Type", "application/x-ndjson");
    http.timeout = longest_stream;
    http.stall_timeout = options_.timeout;
  }
  if (request.on_piece) {
    http.on_piece = std::move(request.on_piece);
    http.timeout = longest_stream;
    http.stall_timeout = options_.timeout + longest_silence;
  }
  const bool works = request.target == work_target;
  if (works) {
    const Lock lock(mutex_);
    ++working_;
  } else {
    http.stop = stop;
  }
  const bool last = request.repeats == 0;
  outgoing::HttpClient& client = request.waits ? waiting_ : client_;
  http.body = last ? std::move(request.body) : request.body;
  auto answered = [this, works, request = std::move(request), stop, until,
                   done = std::move(done)](Result<outgoing::HttpReply> reply) mutable {
    if (stop.stop_requested()) {
      // The caller has left. Tasks taken for it would be lost with the answer.
      if (reply && works) give_back_unread(reply->body);
      if (works) work_ended();
      return;
    }
    if (works) work_ended();
    const bool lost = !reply && reply.error().code == ErrorCode::unavailable;
    if (lost && request.repeats > 0 && until - clock_.steady() > least_again) {
      --request.repeats;
      return send_on(std::move(request), std::move(stop), until, std::move(done));
    }
    last_status_ = reply ? reply->status : 0;
    done(request.as_it_is ? std::move(reply) : judged(std::move(reply)));
  };
  client.send(std::move(http), std::move(answered));
}

void HttpBroker::work_ended() {
  const Lock lock(mutex_);
  if (--working_ == 0) quiet_.notify_all();
}

Result<HttpBroker::Reply> HttpBroker::judged(Result<Reply> reply, bool* denied) const {
  if (!reply) return reply;
  const std::string_view host = host_of(options_.url);
  const int status = reply->status;
  const bool good = status >= 200 && status < 300;
  if (good && (reply->body.empty() || is_json(*reply))) return reply;
  auto problem = !good && is_json(*reply) ? wire::problem_from(reply->body) : std::nullopt;
  const bool by_millrace = problem.has_value();
  if (!problem) problem = stranger(*reply, host);
  const bool about_us = status == 401 || status == 403;
  if (by_millrace && about_us) {
    problem->message = fmt::format("{} refused the request: {}", host, problem->message);
  }
  if (denied != nullptr) {
    const bool about_body =
        by_millrace &&
        (about_us ? !problem->field.empty() : status == 400 || status == 413 || status == 422);
    *denied = problem->code == ErrorCode::invalid && !about_body;
  }
  return std::unexpected(std::move(*problem));
}

void HttpBroker::call(const Ask& ask, Request request, Completion<void> done) {
  send(ask, std::move(request), [done = std::move(done)](Result<Reply> reply) mutable {
    if (!reply) return done(std::unexpected(std::move(reply.error())));
    done({});
  });
}

// ---- The server ----

void HttpBroker::check(Completion<wire::ServerInfo> done) {
  call<wire::ServerInfo>({}, {.target = "/v1/server"}, wire::server_from,
                         [this, done = std::move(done)](Result<wire::ServerInfo> info) mutable {
                           if (info) {
                             const Lock lock(mutex_);
                             traits_ = info->store;
                           }
                           done(std::move(info));
                         });
}

Traits HttpBroker::traits() {
  const Lock lock(mutex_);
  return traits_;
}

void HttpBroker::import_lines(Ask ask, std::function<Result<std::size_t>(std::span<char>)> more,
                              Completion<wire::Imported> done) {
  call<wire::Imported>(
      ask, {.method = "POST", .target = "/v1/import", .waits = true, .lines = std::move(more)},
      wire::imported_from, std::move(done));
}

void HttpBroker::export_lines(Ask ask, std::function<Result<void>(std::string_view)> take,
                              Completion<void> done) {
  call(ask, {.target = "/v1/export", .waits = true, .on_piece = std::move(take)}, std::move(done));
}

void HttpBroker::workers(Ask ask, Completion<std::vector<WorkerView>> done) {
  call<std::vector<WorkerView>>(ask, {.target = "/v1/workers"}, wire::workers_from,
                                std::move(done));
}

void HttpBroker::beat(Ask ask, WorkerReport report, Completion<Instructions> done) {
  call<Instructions>(ask,
                     {.method = "POST",
                      .target = client::worker_target(report.worker, "/beat"),
                      .body = wire::beat_text(report)},
                     wire::instructions_from, std::move(done));
}

}  // namespace millrace
