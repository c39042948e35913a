// Metrics, events, history, and alerts.
#include <fmt/format.h>
#include <utility>

#include "api/server/api_state.h"
#include "api/server/handlers.h"
#include "api/server/metrics_page.h"
#include "api/wire/alerts.h"
#include "api/wire/events.h"
#include "api/wire/history.h"
#include "core/quote.h"

namespace millrace::api {
namespace {

constexpr std::size_t metrics_piece = std::size_t{256} << 10U;
constexpr Duration most_history = std::chrono::days(31);

// The name of the queue in the query (a name, number or UUID), if the key may touch it.
using WithName = std::move_only_function<void(CallPtr, std::optional<std::string>)>;
void with_queue_name(CallPtr call, const std::optional<std::string>& text, WithName next) {
  if (!text) return next(std::move(call), std::nullopt);
  const QueueRef queue = queue_from_text(*text);
  if (const auto* name = std::get_if<std::string>(&queue)) {
    return with_queues(
        std::move(call), {queue},
        [next = std::move(next), name = *name](CallPtr back) mutable {
          next(std::move(back), std::move(name));
        },
        "queue");
  }
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  auto then = [queue, next = std::move(next)](CallPtr back,
                                              const std::vector<QueueView>& found) mutable {
    if (found.empty() || !back->may_touch(found.front().queue.settings.name)) {
      return back->refuse(no_such_queue(queue));
    }
    next(std::move(back), found.front().queue.settings.name);
  };
  broker.queues(ask, queue, answered<std::vector<QueueView>>(std::move(call), std::move(then)));
}

// The queues that a restricted key may see; empty: all of them.
std::function<bool(std::string_view)> allowed_queues(const Call& call) {
  if (!call.restricted()) return {};
  return
      [principal = call.principal](std::string_view queue) { return principal.may_touch(queue); };
}

void begin_events(CallPtr call, EventRequest request) {
  const HttpRequest& head = call->request;
  // A key may be revoked while its stream lasts.
  request.still_allowed = [&options = call->options,
                           asked = HttpRequest{.host = head.host,
                                               .authorization = head.authorization,
                                               .cookie = head.cookie,
                                               .remote = head.remote}] {
    return check_access_again(options, asked, Scope::read).has_value();
  };
  request.filter.allowed = allowed_queues(*call);
  HttpResponse response{.content_type = "text/event-stream",
                        .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}};
  response.push = call->state->streams.open(call->broker->events(), std::move(request));
  if (response.push == nullptr) {
    return call->refuse(Problem{.status = 503,
                                .code = "unavailable",
                                .detail = fmt::format("there are {} streams of events already; "
                                                      "try again later, or raise "
                                                      "events.max_streams",
                                                      call->options.streams.most),
                                .retry_after = std::chrono::seconds(5)});
  }
  call->answer(std::move(response));
}

// A queue that was removed may still have a history; a queue without one must exist.
void answer_history(CallPtr call, const History& found, const std::optional<std::string>& queue,
                    bool depths) {
  std::string text = wire::text_of(found, depths);
  if (!queue || !found.points.empty()) return call->answer(std::move(text));
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  auto then = [text = std::move(text)](CallPtr back, const std::vector<QueueView>& there) mutable {
    if (there.empty()) return back->refuse(Error{ErrorCode::not_found, "there is no such queue"});
    back->answer(std::move(text));
  };
  broker.queues(ask, QueueRef(*queue),
                answered<std::vector<QueueView>>(std::move(call), std::move(then)));
}

// Which kinds of events are wanted.
void set_kinds(Query& query, EventFilter& filter) {
  EventKinds kinds = 0;
  for (const std::string& name : query.list("event")) {
    const auto what = event_kind_from_name(name);
    if (!what) {
      return query.refuse("event",
                          fmt::format("nothing is known of the event {}", in_quotes(name)));
    }
    kinds |= bit_of(*what);
  }
  if (kinds != 0) filter.kinds = kinds;
}

// Where the reader goes on: after the last event it has seen, by a header or by a parameter.
void set_place(Call& call, EventRequest& request, const std::optional<std::string>& after) {
  const bool by_header = !call.request.last_event_id.empty();
  if (!by_header && !after) return;
  const auto seen = wire::event_id_from(by_header ? call.request.last_event_id : *after);
  // A header that is not ours comes from the stream of another server: all that is known is that
  // the reader may have missed something.
  if (!seen && !by_header) {
    return call.query.refuse("after", "it must be the id of an event, such as 5f3a9c-1024");
  }
  request.reset = !seen || seen->boot != call.broker->events().boot();
  if (!request.reset) request.after = seen->number;
}

}  // namespace

Shown shown_by(const ApiOptions& options, ApiState& state, std::optional<MetricsSnapshot> snapshot,
               bool ready) {
  return {.version = options.version,
          .started_at = options.started_at,
          .ready = ready,
          .snapshot = std::move(snapshot),
          .compat = options.metrics_compat,
          .traffic = options.traffic ? options.traffic() : ListenerCounts{},
          .process = process_metrics(),
          .latencies = state.http.latencies(),
          .waits = state.http.waits(),
          .event_streams = state.streams.count(),
          .events_sent = state.streams.sent(),
          .events_skipped = state.streams.skipped()};
}

HttpResponse metrics_response(std::move_only_function<Shown()> show) {
  HttpResponse response{.content_type = std::string(metrics_content_type)};
  auto more = [show = std::move(show),
               page = std::unique_ptr<MetricsPage>()](PushStream::Done done) mutable {
    if (page == nullptr) page = std::make_unique<MetricsPage>(show());
    std::string piece = page->next(metrics_piece);
    const bool last = piece.size() < metrics_piece;
    done(std::move(piece), last);
  };
  response.push = std::make_unique<PushStream>(std::move(more));
  return response;
}

void get_metrics(CallPtr call) {
  if (!call->query_is_good()) return;
  if (call->restricted()) {
    return call->refuse(Problem{.status = 403,
                                .code = "forbidden",
                                .detail = "this key is for some queues only, and metrics are about "
                                          "all of them"});
  }
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  // The page is not written here, but piece by piece while the connection sends it.
  auto then = [](CallPtr back, MetricsSnapshot snapshot) {
    back->answer(metrics_response(
        [&options = back->options, state = back->state, snapshot = std::move(snapshot)]() mutable {
          const bool ready = !snapshot.failure;
          return shown_by(options, *state, std::move(snapshot), ready);
        }));
  };
  broker.metrics(ask, answered<MetricsSnapshot>(std::move(call), then));
}

void get_events(CallPtr call) {
  EventRequest request;
  const auto queue = call->query.text("queue");
  request.filter.type = call->query.text("type");
  request.filter.client_id = call->query.text("client_id");
  if (const auto id = call->query.text("id")) {
    const auto task = task_from_text(*id);
    const auto* named = task ? std::get_if<TaskId>(&*task) : nullptr;
    if (named == nullptr) {
      call->query.refuse("id", "it must be the id of a task, a UUID");
    } else {
      request.filter.id = *named;
    }
  }
  set_kinds(call->query, request.filter);
  constexpr std::uint64_t most = 500;
  request.events_per_second =
      static_cast<std::uint32_t>(call->query.number("most", 1, most).value_or(0));
  set_place(*call, request, call->query.text("after"));
  if (!call->query_is_good()) return;
  with_queue_name(
      std::move(call), queue,
      [request = std::move(request)](CallPtr back, std::optional<std::string> name) mutable {
        request.filter.queue = std::move(name);
        begin_events(std::move(back), std::move(request));
      });
}

void get_past(CallPtr call) {
  HistoryRequest request;
  const auto queue = call->query.text("queue");
  request.type = call->query.text("type");
  const auto step = call->query.text("step");
  if (step && *step != "1m" && *step != "1h") {
    call->query.refuse("step", fmt::format("it is {}; allowed are 1m and 1h", in_quotes(*step)));
  }
  const auto by = call->query.text("by");
  if (by && *by != "queue" && *by != "type") {
    call->query.refuse("by", fmt::format("it is {}; allowed are queue and type", in_quotes(*by)));
  }
  if (by) request.by = *by == "queue" ? HistoryBy::queue : HistoryBy::type;
  if (step && *step == "1h") request.step = std::chrono::hours(1);
  const auto from = call->query.moment("from");
  const auto until = call->query.moment("until");
  if (!call->query_is_good()) return;
  const bool hours = request.step == std::chrono::hours(1);
  const Duration usual = hours ? Duration(std::chrono::days(1)) : Duration(std::chrono::hours(1));
  request.until = until.value_or(later(call->broker->now(), request.step));
  const TimePoint end = std::min(request.until, later(call->broker->now(), request.step));
  request.from = from.value_or(end - usual);
  request.from = std::max(request.from, end - most_history);
  request.allowed = allowed_queues(*call);
  with_queue_name(
      std::move(call), queue,
      [request = std::move(request)](CallPtr back, std::optional<std::string> name) mutable {
        request.queue = std::move(name);
        LocalBroker& broker = *back->broker;
        const Ask ask = back->ask();
        auto then = [queue = request.queue, typed = request.type.has_value()](
                        CallPtr read, const History& found) {
          answer_history(std::move(read), found, queue, !typed);
        };
        broker.history(ask, std::move(request),
                       answered<History>(std::move(back), std::move(then)));
      });
}

void get_alerts(CallPtr call) {
  if (!call->query_is_good()) return;
  CurrentAlerts current = call->broker->current_alerts();
  if (call->restricted()) {
    std::erase_if(current.alerts, [&](const CurrentAlert& alert) {
      return alert.queue.empty() || !call->may_touch(alert.queue);
    });
    current.total = current.alerts.size();
  }
  call->answer(wire::text_of(current));
}

}  // namespace millrace::api
