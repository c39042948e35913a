// The metrics of an App, and the port that serves them.
#include <charconv>
#include <memory>
#include <utility>

#include "api/server/metrics_port.h"
#include "app/app_parts.h"
#include "core/metrics_text.h"
#include "store/store.h"

namespace millrace {
namespace {

Result<api::ListenerOptions> address_of(const std::string& text) {
  api::ListenerOptions options{.limits = api::metrics_limits()};
  const std::size_t colon = text.rfind(':');
  const std::string_view port =
      colon == text.npos ? std::string_view() : std::string_view(text).substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), options.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) {
    return fail(ErrorCode::invalid,
                "metrics must be an address and a port, such as "
                "127.0.0.1:9100, but is " +
                    text);
  }
  options.address = text.substr(0, colon);
  if (options.address.starts_with('[') && options.address.ends_with(']')) {
    options.address = options.address.substr(1, options.address.size() - 2);
  }
  return options;
}

}  // namespace

// /metrics, and no other page: an App has no API.
class App::Parts::MetricsPage final : public api::MetricsPort {
 public:
  explicit MetricsPage(const Parts& parts) : parts_(parts) {}

 private:
  void metrics(api::Respond respond) override {
    api::HttpResponse response;
    response.content_type = metrics_content_type;
    response.body = parts_.metrics_text();
    respond(std::move(response));
  }

  const Parts& parts_;
};

Result<void> App::Parts::listen() {
  if (options.metrics.empty()) return {};
  const auto address = address_of(options.metrics);
  if (!address) return std::unexpected(address.error());
  metrics_port = std::make_unique<MetricsPage>(*this);
  auto started = api::Listener::start(*address, *metrics_port, clock(), log);
  if (!started) return std::unexpected(std::move(started.error()));
  listener = std::move(*started);
  log(LogLevel::info, "metrics can be read",
      {{"address", address->address}, {"port", std::int64_t{listener->port()}}});
  return {};
}

std::string App::Parts::number_of(const std::string& queue) const {
  const auto found = numbers.find(queue);
  return found == numbers.end() ? queue : std::to_string(found->second);
}

std::string App::Parts::metrics_text() const {
  MetricsText text;
  if (!worker) return text.text();
  const auto all = worker->metrics();
  const auto family = [&](std::string_view name, MetricKind kind, std::string_view help,
                          auto figure) {
    text.family(name, kind, help);
    for (const auto& queue : all) text.sample({{"queue", queue.queue}}, figure(queue));
  };
  // Under the names and labels of other systems (docs/coming-from-another-system.md): by the number
  // of the queue, if it has one.
  const auto by_number = [&](std::string_view name, MetricKind kind, std::string_view help,
                             auto figure) {
    text.family(name, kind, help);
    for (const auto& queue : all)
      text.sample({{"queue_num", number_of(queue.queue)}}, figure(queue));
  };
  using Of = worker::RunMetrics;
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  family("millrace_worker_handled_total", MetricKind::counter,
         "Tasks whose handler ended, well or not.", [](const Of& of) { return of.handled; });
  family("millrace_worker_completed_total", MetricKind::counter, "Tasks completed.",
         [](const Of& of) { return of.completed; });
  family("millrace_worker_errors_total", MetricKind::counter, "Runs that did not succeed.",
         [](const Of& of) { return of.stats.errors; });
  family("millrace_worker_retried_total", MetricKind::counter, "Tasks that will be retried.",
         [](const Of& of) { return of.stats.retried; });
  family("millrace_worker_timed_out_total", MetricKind::counter, "Runs that timed out.",
         [](const Of& of) { return of.timed_out; });
  family("millrace_worker_lost_total", MetricKind::counter,
         "Leases that were lost before their handler ended.", [](const Of& of) { return of.lost; });
  family("millrace_worker_slow_cycles_total", MetricKind::counter,
         "Cycles of take and handling that took longer than 10 s.",
         [](const Of& of) { return of.slow_cycles; });
  by_number("queue_tasks_in_progress", MetricKind::gauge, "Tasks being processed.",
            [&](const Of& of) { return number(of.running); });
  family("millrace_worker_concurrency", MetricKind::gauge,
         "Calls of its handlers that may run at once.",
         [&](const Of& of) { return number(of.concurrency); });
  family("millrace_worker_prefetched", MetricKind::gauge,
         "Tasks that are prefetched and not begun.",
         [&](const Of& of) { return number(of.waiting); });
  family("millrace_worker_abandoned", MetricKind::gauge,
         "Threads whose handler did not return after its timeout.",
         [&](const Of& of) { return number(of.abandoned); });
  by_number("queue_job_processor_cycle_duration_seconds", MetricKind::histogram,
            "Time of one cycle of a processor: take and handling of a batch.",
            [&](const Of& of) { return worker->cycles(of.queue); });
  text.family("queue_running_workers", MetricKind::gauge, "Running workers.");
  text.sample({}, std::uint64_t{worker->running_processors() > 0 ? 1U : 0U});
  text.family("queue_running_job_processors", MetricKind::gauge, "Running processors.");
  text.sample({}, number(worker->running_processors()));
  if (shared->opened.local && options.manager) {
    text.family("millrace_processors_desired", MetricKind::gauge,
                "Processors that would keep waiting short, in all workers; for autoscalers.");
    text.sample({}, shared->opened.local->desired_processors());
  }
  return text.text();
}

}  // namespace millrace
