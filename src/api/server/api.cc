#include "api/server/api.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <utility>

#include "access/key_book.h"
#include "api/server/handlers.h"
#include "api/server/openapi.h"
#include "api/server/pages.h"
#include "api/wire/raw.h"
#include "api/wire/text_writer.h"
#include "core/ascii.h"
#include "core/ensure.h"
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
  const std::string type = ascii::lower(media_type(request.content_type));
  return type == "application/x-ndjson" || type == "application/jsonl";
}

std::string_view path_of(std::string_view target) {
  const std::string_view path = target.substr(0, std::min(target.find('?'), target.size()));
  return path.empty() ? "/" : path;
}

Problem no_such_route(const HttpRequest& head, const Match& found) {
  if (found.allow.empty() && head.method == Method::other) {
    return {.status = 501,
            .code = "method_not_allowed",
            .detail = fmt::format("{} is a method that this server does not know",
                                  in_quotes(head.method_name))};
  }
  if (found.allow.empty()) {
    return {.status = 404,
            .code = "not_found",
            .detail = fmt::format("there is no {}; /openapi.json describes what there is",
                                  in_quotes(path_of(head.target)))};
  }
  const std::string method = head.method == Method::other ? in_quotes(head.method_name)
                                                          : std::string(name_of(head.method));
  return {.status = 405,
          .code = "method_not_allowed",
          .detail = fmt::format("{} is not allowed here; allowed is {}", method, found.allow),
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

// A route whose body is optional checks the content type only once there is a body.
std::optional<Problem> wrong_type(const HttpRequest& head, const Route& route) {
  if (route.body == Body::none) return std::nullopt;
  if (!head.content_encoding.empty() && ascii::lower(head.content_encoding) != "identity") {
    return Problem{.status = 415,
                   .code = "unsupported_media_type",
                   .detail = fmt::format("the body is encoded as {}; send it as it is, without a "
                                         "Content-Encoding",
                                         in_quotes(head.content_encoding))};
  }
  return route.body == Body::optional ? std::nullopt : not_json(head, route);
}

bool takes_lines(const Route& route) {
  return route.body == Body::lines || route.body == Body::tasks;
}

// Decodes the values that stand in the path for {…}.
std::optional<Problem> decode_path(const Match& found, std::array<std::string, 2>& path) {
  for (std::size_t i = 0; i < found.path.size() && !found.path[i].empty(); ++i) {
    auto decoded = percent_decoded(found.path[i], false);
    if (!decoded) {
      return Problem{.status = 400,
                     .code = "malformed",
                     .detail = fmt::format("{} is not percent-encoded as it should be",
                                           in_quotes(found.path[i]))};
    }
    path[i] = std::move(*decoded);
  }
  return std::nullopt;
}

// A browser sends simple requests for any page that asks it to. It does not add a key by itself, so
// a request with a key is accepted; but it does add the password that a proxy asked for. Nor does
// it add X-Requested-By, which pages of other sites cannot send; so a request with that header is
// accepted even if a proxy has changed the Host.
bool is_foreign(const HttpRequest& head) {
  const bool has_key = !access::bearer_of(head.authorization).empty();
  if (head.origin.empty() || has_key || !head.requested_by.empty()) return false;
  const std::string origin = ascii::lower(head.origin);
  for (const auto& [scheme, port] :
       {std::pair<std::string_view, std::string_view>{"http://", ":80"}, {"https://", ":443"}}) {
    if (!origin.starts_with(scheme)) continue;
    std::string host = ascii::lower(head.host);
    if (host.ends_with(port)) host.erase(host.size() - port.size());  // no Origin has it
    return origin.substr(scheme.size()) != host;
  }
  return true;
}

bool changes_something(const HttpRequest& head) {
  return head.method != Method::get && head.method != Method::head;
}

// Browsers send cookies by themselves, even with requests that a page of another site made up.
Problem not_ours() {
  return {.status = 403,
          .code = "forbidden",
          .detail =
              "a change that comes with a cookie needs the header X-Requested-By, which shows "
              "that the page of this server has sent it"};
}

// The owner of a domain name can point it at this machine; pages of that name then reach this
// server as if it were their own. IP addresses and localhost cannot be pointed elsewhere like that.
bool is_borrowed_name(std::string_view given) {
  if (given.empty() || given.starts_with('[')) return false;
  const std::string host = ascii::lower(given.substr(0, given.find(':')));
  if (host == "localhost" || host.ends_with(".localhost")) return false;
  return !std::ranges::all_of(host, [](char c) { return c == '.' || ascii::is_digit(c); });
}

ApiOptions with_clock(ApiOptions options, Clock& clock) {
  if (options.clock == nullptr) options.clock = &clock;
  return options;
}

}  // namespace

Api::Api(ApiOptions options)
    : options_(with_clock(std::move(options), clock_)), kept_(*options_.clock, options_.streams) {
  ensure(options_.keys != nullptr, "the API needs the keys that decide who may do what");
}

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

HttpResponse Api::problem(unsigned status, std::string_view detail) {
  const std::string_view code = status == 413   ? "too_large"
                                : status == 503 ? "unavailable"
                                : status == 408 ? "timeout"
                                                : "malformed";
  Problem problem{.status = status, .code = std::string(code), .detail = std::string(detail)};
  if (status == 503) problem.retry_after = std::chrono::seconds(1);
  return response_of(problem, request_id({}));
}

// Until there is a broker, shows what is known without one.
void Api::show_metrics(Respond respond) {
  LocalBroker* const broker = state_ == State::starting ? nullptr : broker_.load();
  if (broker == nullptr) {
    return respond(metrics_response([this] { return shown_by(options_, kept_, {}, false); }));
  }
  const Ask ask{.caller = broker->new_caller(),
                .deadline = later(broker->now(), options_.deadline)};
  broker->metrics(ask, [this, respond = std::move(respond)](Result<MetricsSnapshot> seen) mutable {
    respond(metrics_response([this, seen = std::move(seen)]() mutable {
      const bool ready = seen && !seen->failure && state_ == State::ready;
      std::optional<MetricsSnapshot> snapshot;
      if (seen) snapshot = std::move(*seen);
      return shown_by(options_, kept_, std::move(snapshot), ready);
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

// A proxy may pass paths on unchanged; they then begin with the path under which it serves us.
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
                                    Principal& principal) {
  if (found.route == nullptr) return no_such_route(head, found);
  const Route& route = *found.route;
  if (auto wrong = wrong_type(head, route)) return wrong;
  if (route.always) return std::nullopt;
  if (auto problem = not_ready()) return problem;
  if (!route.scope) {
    const bool bare = changes_something(head) && head.requested_by.empty();
    return bare ? std::optional(not_ours()) : std::nullopt;
  }
  if (is_foreign(head)) {
    return Problem{.status = 403,
                   .code = "forbidden",
                   .detail = fmt::format("web pages of {} may not ask this server without a key",
                                         in_quotes(head.origin))};
  }
  auto access = check_access(options_, head, *route.scope);
  if (!access) return std::move(access.error());
  principal = std::move(*access);
  if (principal.session && changes_something(head) && head.requested_by.empty()) {
    return not_ours();
  }
  if (principal.key == nullptr && is_borrowed_name(head.host)) {
    return Problem{.status = 403,
                   .code = "forbidden",
                   .detail = fmt::format("without a key this server answers to its address and to "
                                         "localhost, not to {}; make a key to use other names",
                                         in_quotes(head.host))};
  }
  return std::nullopt;
}

BodyPlan Api::plan(HttpRequest head, Peer& peer) {
  const std::string_view path = path_of(without_base(head.target));
  const Match found = match(head.method, path);
  if (found.route == nullptr && options_.pages != nullptr) {
    if (auto page = options_.pages->answer(head, path)) {
      kept_.http.answered(nullptr, page->status, std::chrono::nanoseconds(0));
      page->headers.emplace_back("X-Request-Id", request_id(head.request_id));
      return std::move(*page);
    }
  }
  auto call =
      std::make_unique<Call>(Call{.options = options_, .route = found.route, .state = &kept_});
  auto problem = refusal(head, found, call->principal);
  if (!problem) problem = decode_path(found, call->path);
  if (problem) {
    kept_.http.answered(found.route, problem->status, std::chrono::nanoseconds(0));
    return response_of(*problem, request_id(head.request_id));
  }
  begin(*call, std::move(head), peer);
  const Route& route = *call->route;
  if (takes_lines(route) && is_lines(call->request)) {
    call->began = options_.clock->steady();
    return route.body == Body::lines ? plan_import(std::move(call)) : plan_lines(std::move(call));
  }
  const bool large = route.body == Body::tasks || route.scope == Scope::work;
  return Whole{.most = large ? options_.max_body : options_.max_small_body,
               .handle = [this, call = std::move(call)](std::string body, Respond respond) mutable {
                 handle(std::move(call), std::move(body), std::move(respond));
               }};
}

void Api::begin(Call& call, HttpRequest&& head, Peer& peer) {
  call.request_id = request_id(head.request_id);
  call.request = std::move(head);
  std::string& target = call.request.target;
  target.erase(0, target.size() - without_base(target).size());
  if (const std::size_t mark = target.find('?'); mark != target.npos) {
    call.query = Query(std::string_view(target).substr(mark + 1));
  }
  if (call.route->always) return;
  call.broker = broker_;
  if (peer.caller == 0) peer.caller = call.broker->new_caller().value;
  call.caller = CallerId{peer.caller};
}

void Api::handle(CallPtr call, std::string body, Respond respond) {
  call->began = options_.clock->steady();  // without the time that the body took
  call->request.body = std::move(body);
  call->respond = std::move(respond);
  const Route& route = *call->route;
  if (route.body == Body::optional && !call->request.body.empty()) {
    if (auto problem = not_json(call->request, route)) return call->refuse(std::move(*problem));
  }
  if (route.handle != nullptr) return route.handle(std::move(call));
  if (call->query_is_good()) call->answer(server_answer(*call));
}

void Api::closed(const Peer& peer) {
  if (peer.caller == 0) return;
  const CallerId caller{peer.caller};
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
