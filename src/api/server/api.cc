#include "api/server/api.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "access/key_book.h"
#include "api/server/handlers.h"
#include "api/server/metrics_port.h"
#include "api/server/openapi.h"
#include "api/wire/raw.h"
#include "api/wire/text_writer.h"
#include "core/mutex.h"
#include "core/quote.h"

namespace millrace::api {
namespace {

std::string_view media_type(std::string_view content_type) {
  content_type = content_type.substr(0, std::min(content_type.find(';'), content_type.size()));
  while (content_type.ends_with(' ')) content_type.remove_suffix(1);
  return content_type;
}

bool is_lines(const HttpRequest& request) {
  const std::string_view type = media_type(request.content_type);
  return type == "application/x-ndjson" || type == "application/jsonl";
}

std::string_view path_of(std::string_view target) {
  const std::string_view path = target.substr(0, std::min(target.find('?'), target.size()));
  return path.empty() ? "/" : path;
}

Problem no_such_route(const HttpRequest& head, const Match& found) {
  if (found.allow.empty()) {
    return {.status = 404,
            .code = "not_found",
            .detail = fmt::format("there is no {}; /openapi.json describes what there is",
                                  in_quotes(path_of(head.target)))};
  }
  return {.status = 405,
          .code = "method_not_allowed",
          .detail = fmt::format("{} is not allowed here; allowed is {}", name_of(head.method),
                                found.allow),
          .allow = found.allow};
}

std::optional<Problem> not_json(const HttpRequest& head, const Route& route) {
  const std::string_view type = media_type(head.content_type);
  const bool lines = route.body == Body::tasks;
  if (route.body != Body::lines && wire::is_json_type(type)) return std::nullopt;
  if ((lines || route.body == Body::lines) && is_lines(head)) return std::nullopt;
  if (route.body == Body::lines) {
    return Problem{.status = 415,
                   .code = "unsupported_media_type",
                   .detail = fmt::format("the body is {}; send Content-Type: application/x-ndjson",
                                         in_quotes(type))};
  }
  return Problem{.status = 415,
                 .code = "unsupported_media_type",
                 .detail = fmt::format(
                     "the body is {}; send Content-Type: application/json{}", in_quotes(type),
                     lines ? ", or application/x-ndjson for a stream of lines" : "")};
}

// Where a body may be missing, its type is looked at once it is there.
std::optional<Problem> wrong_type(const HttpRequest& head, const Route& route) {
  if (route.body == Body::none || route.body == Body::optional) return std::nullopt;
  return not_json(head, route);
}

// A browser sends simple requests for any page that wants it to. A key does not come by itself, so
// whoever has one may; the password that a proxy asked for does.
// Neither does X-Requested-By, which pages of others cannot send; so a proxy may change the Host.
bool is_foreign(const HttpRequest& head) {
  const bool has_key = !access::bearer_of(head.authorization).empty();
  if (head.origin.empty() || has_key || !head.requested_by.empty()) return false;
  std::string_view origin = head.origin;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size()) != head.host;
  }
  return true;
}

bool changes_something(const HttpRequest& head) {
  return head.method != Method::get && head.method != Method::head;
}

// A cookie comes by itself, also with requests that a page of somebody else has made up.
Problem not_ours() {
  return {.status = 403,
          .code = "forbidden",
          .detail =
              "a change that comes with a cookie needs the header X-Requested-By, which shows "
              "that the page of this server has sent it"};
}

// Whoever owns a name can point it at this machine and have a browser ask here in that name's own
// pages. Addresses and localhost cannot be lent out like that.
bool is_borrowed_name(std::string_view host) {
  if (host.empty() || host.starts_with('[')) return false;
  host = host.substr(0, host.find(':'));
  if (host == "localhost" || host.ends_with(".localhost")) return false;
  return !std::ranges::all_of(host, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

ApiOptions with_clock(ApiOptions options, Clock& clock) {
  if (options.clock == nullptr) options.clock = &clock;
  return options;
}

}  // namespace

Api::Api(ApiOptions options)
    : options_(with_clock(std::move(options), clock_)),
      watching_(*options_.clock, options_.streams) {}

void Api::progress(std::string text) {
  const Lock lock(progress_mutex_);
  progress_ = std::move(text);
}

void Api::start(LocalBroker& broker) {
  broker_ = &broker;
  state_ = State::ready;
}

void Api::stop() {
  state_ = State::stopping;
  if (LocalBroker* const broker = broker_) broker->dead_groups().stop();
}

HttpHandler Api::handler() {
  return {.plan = [this](const HttpRequest& head) { return plan(head); },
          .handle = [this](HttpRequest request,
                           Respond respond) { handle(std::move(request), std::move(respond)); },
          .closed = [this](ConnectionId connection) { closed(connection); },
          .problem =
              [this](unsigned status, std::string_view detail) {
                const std::string_view code = status == 413   ? "too_large"
                                              : status == 503 ? "unavailable"
                                              : status == 408 ? "timeout"
                                                              : "malformed";
                Problem problem{
                    .status = status, .code = std::string(code), .detail = std::string(detail)};
                if (status == 503) problem.retry_after = std::chrono::seconds(1);
                return response_of(problem, request_id({}));
              }};
}

HttpHandler Api::metrics_handler() {
  return handler_of({.metrics = [this](Respond respond) { show_metrics(std::move(respond)); },
                     .health = [] { return health(); },
                     .ready = [this] { return ready(); }});
}

// As long as there is no broker, what is known without one.
void Api::show_metrics(Respond respond) {
  Broker* const broker = state_ == State::starting ? nullptr : broker_.load();
  if (broker == nullptr || !options_.eyes.observe) {
    return respond(metrics_response([this] { return shown_by(options_, watching_, {}, false); }));
  }
  const Ask ask{.caller = broker->new_caller(),
                .deadline = later(broker->now(), options_.deadline)};
  options_.eyes.observe(ask, [this, respond = std::move(respond)](Result<Observed> seen) mutable {
    respond(metrics_response([this, seen = std::move(seen)]() mutable {
      const bool ready = seen && !seen->failure && state_ == State::ready;
      std::optional<Observed> observed;
      if (seen) observed = std::move(*seen);
      return shown_by(options_, watching_, std::move(observed), ready);
    }));
  });
}

// ---- From the head to the handler --------------------------------------------------------------

std::string Api::request_id(std::string_view given) {
  const bool usable = !given.empty() && given.size() <= 128 &&
                      std::ranges::all_of(given, [](char c) { return c > ' ' && c <= '~'; });
  if (usable) return std::string(given);
  const auto started = static_cast<std::uint64_t>(options_.started_at.time_since_epoch().count());
  return fmt::format("{:x}-{:x}", started, next_request_.fetch_add(1) + 1);
}

std::unique_ptr<Call> Api::make_call(HttpRequest request) {
  auto call = std::make_unique<Call>(Call{.options = options_});
  call->watching = &watching_;
  call->began = options_.clock->steady();
  call->request_id = request_id(request.request_id);
  call->request = std::move(request);
  std::string& target = call->request.target;
  target.erase(0, target.size() - without_base(target).size());
  return call;
}

// A proxy that passes paths on as they came leaves in front of them where it has put us.
std::string_view Api::without_base(std::string_view target) const {
  const std::string& base = options_.base_path;
  if (base.empty() || !target.starts_with(base)) return target;
  const std::string_view rest = target.substr(base.size());
  return rest.empty() || rest.front() == '/' || rest.front() == '?' ? rest : target;
}

std::optional<Problem> Api::not_ready() const {
  const State state = state_;
  if (state == State::ready) return std::nullopt;
  Problem problem{.status = 503, .retry_after = std::chrono::seconds(1)};
  if (state == State::stopping) {
    problem.code = problem.state = "stopping";
    problem.detail = "the server is stopping";
    return problem;
  }
  problem.code = problem.state = "starting";
  const Lock lock(progress_mutex_);
  problem.detail = progress_.empty() ? "the server is starting"
                                     : fmt::format("the server is starting: {}", progress_);
  return problem;
}

std::optional<Problem> Api::refusal(const HttpRequest& head, const Match& found,
                                    std::shared_ptr<const Principal>& principal) {
  if (found.route == nullptr) return no_such_route(head, found);
  if (auto wrong = wrong_type(head, *found.route)) return wrong;
  if (found.route->scope == Scope::open) return std::nullopt;
  if (auto problem = not_ready()) return problem;
  if (found.route->scope == Scope::anyone) {
    const bool bare = changes_something(head) && head.requested_by.empty();
    return bare ? std::optional(not_ours()) : std::nullopt;
  }
  if (is_foreign(head)) {
    return Problem{.status = 403,
                   .code = "forbidden",
                   .detail = fmt::format("web pages of {} may not ask this server without a key",
                                         in_quotes(head.origin))};
  }
  if (options_.access) {
    auto access = options_.access(head, found.route->scope);
    if (!access) return problem_of(access.error());
    principal = std::move(*access);
  }
  if (principal && principal->session && changes_something(head) && head.requested_by.empty()) {
    return not_ours();
  }
  if (principal == nullptr && is_borrowed_name(head.host)) {
    return Problem{.status = 403,
                   .code = "forbidden",
                   .detail = fmt::format("without a key this server answers to its address and to "
                                         "localhost, not to {}; make a key to use other names",
                                         in_quotes(head.host))};
  }
  return std::nullopt;
}

std::optional<Problem> Api::lead(Call& call, const Match& found) {
  call.route = found.route;
  for (std::size_t i = 0; i < found.path.size() && !found.path[i].empty(); ++i) {
    auto decoded = percent_decoded(found.path[i], false);
    if (!decoded) {
      return Problem{.status = 400,
                     .code = "malformed",
                     .detail = fmt::format("{} is not percent-encoded as it should be",
                                           in_quotes(found.path[i]))};
    }
    call.path[i] = std::move(*decoded);
  }
  const std::string_view target = call.request.target;
  const std::size_t mark = target.find('?');
  if (mark != target.npos) call.query = Query(target.substr(mark + 1));
  call.broker = broker_;
  return std::nullopt;
}

BodyPlan Api::plan(const HttpRequest& head) {
  const std::string_view path = path_of(without_base(head.target));
  const Match found = match(head.method, path);
  if (found.route == nullptr && options_.pages) {
    if (auto page = options_.pages(head, path)) {
      watching_.http.answered(nullptr, page->status, std::chrono::nanoseconds(0));
      page->headers.emplace_back("X-Request-Id", request_id(head.request_id));
      return std::move(*page);
    }
  }
  std::shared_ptr<const Principal> principal;
  if (const auto problem = refusal(head, found, principal)) {
    watching_.http.answered(found.route, problem->status, std::chrono::nanoseconds(0));
    return response_of(*problem, request_id(head.request_id));
  }
  const bool lines = found.route->body == Body::lines || found.route->body == Body::tasks;
  if (!lines || !is_lines(head)) {
    if (options_.access) remember(head, found.route, std::move(principal));
    const bool large = found.route->body == Body::tasks || found.route->scope == Scope::work;
    return Whole{.most = large ? options_.max_body : options_.max_small_body};
  }
  auto call = make_call(head);
  if (const auto problem = lead(*call, match(head.method, path_of(call->request.target)))) {
    return response_of(*problem, call->request_id);
  }
  call->principal = std::move(principal);
  call->caller = caller_of(head.connection);
  return found.route->body == Body::lines ? plan_import(std::move(call))
                                          : plan_lines(std::move(call));
}

void Api::handle(HttpRequest request, Respond respond) {
  auto call = make_call(std::move(request));
  const Match found = match(call->request.method, path_of(call->request.target));
  call->route = found.route;
  std::optional<Problem> problem;
  if (!options_.access || !recall(*call, found.route)) {
    problem = refusal(call->request, found, call->principal);
  }
  if (!problem) problem = lead(*call, found);
  if (!problem && found.route->body == Body::optional && !call->request.body.empty()) {
    problem = not_json(call->request, *found.route);
  }
  call->respond = std::move(respond);
  if (problem) return call->refuse(*problem);
  if (call->route->handle == nullptr) {
    if (call->query_is_good()) call->answer(server_answer(*call));
    return;
  }
  if (call->caller == CallerId{}) call->caller = caller_of(call->request.connection);
  call->route->handle(std::move(call));
}

// ---- Connections -------------------------------------------------------------------------------

void Api::remember(const HttpRequest& head, const Route* route,
                   std::shared_ptr<const Principal> principal) {
  Shard& at = shard(head.connection);
  const Lock lock(at.mutex);
  Connection& connection = at.connections[head.connection];
  connection.route = route;
  connection.authorization = head.authorization;
  connection.cookie = head.cookie;
  connection.principal = std::move(principal);
}

// Only for the request whose head was looked at: the same route with the same key.
bool Api::recall(Call& call, const Route* route) {
  Shard& at = shard(call.request.connection);
  const Lock lock(at.mutex);
  const auto found = at.connections.find(call.request.connection);
  if (found == at.connections.end()) return false;
  Connection& connection = found->second;
  call.caller = connection.caller;
  const bool same = std::exchange(connection.route, nullptr) == route && route != nullptr &&
                    connection.authorization == call.request.authorization &&
                    connection.cookie == call.request.cookie;
  if (same) call.principal = std::move(connection.principal);
  connection.principal = nullptr;
  return same;
}

CallerId Api::caller_of(ConnectionId id) {
  Broker* const broker = broker_;
  if (broker == nullptr) return {};
  Shard& at = shard(id);
  const Lock lock(at.mutex);
  Connection& connection = at.connections[id];
  if (connection.caller == CallerId{}) connection.caller = broker->new_caller();
  return connection.caller;
}

void Api::closed(ConnectionId id) {
  CallerId caller = {};
  {
    Shard& at = shard(id);
    const Lock lock(at.mutex);
    const auto found = at.connections.find(id);
    if (found == at.connections.end()) return;
    caller = found->second.caller;
    at.connections.erase(found);
  }
  if (caller == CallerId{}) return;
  broker_.load()->leave(caller);
}

// ---- What is answered in any state -------------------------------------------------------------

HttpResponse Api::server_answer(const Call& call) {
  const std::string_view operation = call.route->operation;
  if (operation == "getHealth") return health();
  if (operation == "getReady") return ready();
  return {.body = std::string(openapi_json())};
}

HttpResponse Api::health() {
  return {.body = R"({"status":"ok"})"};
}

HttpResponse Api::ready() const {
  const State state = state_;
  std::string_view status = state == State::starting   ? "starting"
                            : state == State::stopping ? "stopping"
                                                       : "ok";
  std::optional<Error> failure;
  if (state == State::ready) failure = broker_.load()->failure();
  if (failure) status = "failed";
  HttpResponse response{.status = status == "ok" ? 200U : 503U};
  wire::TextWriter writer(response.body);
  writer("status", status);
  if (failure) writer("cause", failure->message);
  if (state == State::starting) {
    const Lock lock(progress_mutex_);
    writer("progress", progress_);
  }
  writer.close();
  if (response.status != 200) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace millrace::api
