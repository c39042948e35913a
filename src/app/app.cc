#include <millrace/app.h>

#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/app_parts.h"
#include "core/mutex.h"
#include "store/store.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

constexpr Duration look = 500ms;  // how often run() checks whether the store has failed

void must(Result<void> result) {
  if (!result) throw Failure(std::move(result.error()));
}

}  // namespace

App::App(std::string_view url, AppOptions options)
    : parts_(std::make_unique<Parts>(url, std::move(options))) {}

App::~App() {
  stop();
}

Client& App::client() {
  return parts_->client;
}

// ---- Handlers, queues, schedules ----

void App::set_options(const std::string& queue, HandlerOptions options) {
  if (parts_->begun) {
    throw Failure({.code = ErrorCode::conflict,
                   .message = fmt::format(
                       "queue {}: set handlers and settings before the app starts", queue)});
  }
  parts_->plan.queues[queue].options = std::move(options);
}

void App::set_batch_options(const std::string& queue, HandlerOptions options) {
  set_options(queue, std::move(options));
  must(parts_->plan.set_batch(queue));
}

void App::add(const std::string& queue, const std::string& type, TypeOptions options,
              HandlerFunction handler) {
  if (parts_->begun) set_options(queue, {});  // this throws, and says why
  must(parts_->plan.add(queue, type, std::move(options), std::move(handler)));
}

void App::schedule(std::string name, TickRule rule, ScheduleOptions options, NewTask task) {
  if (parts_->begun) set_options(name, {});
  rule.zone = std::move(options.zone);
  parts_->plan.schedules.push_back({.name = std::move(name),
                                    .rule = std::move(rule),
                                    .task = std::move(task),
                                    .overlap = options.overlap,
                                    .missed = options.missed,
                                    .jitter = options.jitter});
}

// ---- Working ----

Result<void> App::start() {
  return parts_->begin(true);
}

void App::shutdown() {
  parts_->told_to_stop = true;
  const Lock lock(parts_->signals_mutex);
  if (parts_->worker) parts_->worker->shutdown();
  if (parts_->signals != nullptr) parts_->signals->wake();
}

int App::stop() {
  shutdown();
  return parts_->end();
}

int App::run() {
  Signals signals;
  {
    const Lock lock(parts_->signals_mutex);
    parts_->signals = &signals;
  }
  int code = EXIT_SUCCESS;
  if (const auto started = parts_->begin_when_there(signals); !started) {
    parts_->log(LogLevel::error, started.error().message);
    code = EXIT_FAILURE;
  }
  while (code == EXIT_SUCCESS && !parts_->told_to_stop) {
    if (signals.wait(look) == SignalKind::stop) break;
    const auto failure = parts_->broker().failure();
    if (failure && !parts_->broker().traits().recovers) {
      parts_->log(LogLevel::error, failure->message);
      code = EXIT_FAILURE;
    }
  }
  signals.exit_on_the_next();
  const int ended = parts_->end();
  {
    const Lock lock(parts_->signals_mutex);
    parts_->signals = nullptr;
  }
  if (code == EXIT_SUCCESS) code = ended;
  // A handler that does not return would use objects that main() destroys.
  if (parts_->stuck) std::_Exit(code);
  return code;
}

Result<Stepped> App::step(TimePoint now) {
  if (parts_->manual == nullptr) {
    return fail(ErrorCode::invalid,
                "step() needs an App with virtual time: App(url, {.virtual_time = …})");
  }
  if (!parts_->begun) {
    if (auto begun = parts_->begin(false); !begun) return std::unexpected(std::move(begun.error()));
  }
  Stepped stepped;
  while (true) {
    parts_->shared->opened.local->run_services();
    const auto runs = parts_->run_ready();
    if (!runs) return std::unexpected(runs.error());
    stepped.runs += *runs;
    ++stepped.moments;
    const TimePoint at = parts_->clock().now();
    if (at >= now) return stepped;
    const TimePoint next = parts_->next_moment(now);
    parts_->manual->advance(std::max(next - at, Duration(*runs == 0 ? 1 : 0)));
  }
}

// ---- Metrics ----

namespace {

template <class Parts>
worker::RunMetrics run_metrics_of(const Parts& parts, const std::string& queue) {
  if (!parts.worker) return {};
  for (auto& each : parts.worker->metrics()) {
    if (each.queue == queue) return std::move(each);
  }
  return {};
}

}  // namespace

QueueMetrics App::metrics(const std::string& queue) const {
  const auto runs = run_metrics_of(*parts_, queue);
  QueueMetrics metrics{
      .completed = runs.completed, .failed = runs.stats.errors, .retried = runs.stats.retried};
  if (runs.handled != 0) {
    metrics.avg_seconds = std::chrono::duration<double>(runs.stats.duration).count() /
                          static_cast<double>(runs.handled);
  }
  return metrics;
}

HandlerStats App::stats(const std::string& queue) const {
  return run_metrics_of(*parts_, queue).stats;
}

std::string App::metrics_text() const {
  return parts_->metrics_text();
}

}  // namespace millrace
