#include "app/app_parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <thread>
#include <utility>

#include "core/limits.h"
#include "core/mutex.h"
#include "outgoing/signature.h"
#include "store/embedded/memory.h"
#include "store/store.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

constexpr Duration answer_time = 30s;
constexpr Duration log_patience = 5s;
constexpr Duration first_pause = 250ms;  // between two questions whether the server is there
constexpr Duration last_pause = 2s;
constexpr Duration deliveries_patience = 2s;  // the rest is delivered after the next start

// The name of this worker: host and process. Workers in the process of the store are marked, so
// that their leases end with it.
std::string name_of_worker(const AppOptions& options, bool owns_store) {
  std::string name = options.name;
  if (name.empty()) {
    std::array<char, 65> host = {};
    if (gethostname(host.data(), host.size() - 1) != 0) host = {'a', 'p', 'p'};
    name = fmt::format("{}-{}", host.data(), getpid());
  }
  return owns_store ? fmt::format("{}-{}", local_worker, name) : name;
}

LogWriter::Sink sink_of(const AppOptions& options) {
  if (!options.log) return write_to_standard_error;
  return [log = options.log](std::string_view lines) {
    while (!lines.empty()) {
      const std::size_t end = lines.find('\n');
      log(lines.substr(0, end));
      lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
    }
  };
}

}  // namespace

App::Parts::Parts(std::string_view address, AppOptions given)
    : url(address), options(std::move(given)), client(shared) {
  if (options.virtual_time) {
    if (is_server(url)) {
      throw Failure(
          {.code = ErrorCode::invalid,
           .message = "a server has its own clock; virtual time needs a store, such as memory:"});
    }
    auto clock = std::make_unique<ManualClock>(*options.virtual_time);
    manual = clock.get();
    shared->clock = std::move(clock);
  } else {
    shared->clock = std::make_unique<SystemClock>();
  }
  writer = std::make_unique<LogWriter>(clock(), LogOptions{}, sink_of(options));
  log = writer->log();
  shared->timeout = answer_time;
  auto opened = open_broker(clock(), url,
                            {.key = options.key,
                             .ca_file = options.ca_file,
                             .timeout = answer_time,
                             .retry = options.retry,
                             .manager = options.manager,
                             .virtual_time = manual != nullptr,
                             .log = log});
  if (!opened) throw Failure(std::move(opened.error()));
  shared->opened = std::move(*opened);
  shared->run_in_place = [this](const NewTask& task) { return run_in_place(task); };
  wait_for_server();
}

void App::Parts::wait_for_server() {
  HttpBroker* server = shared->opened.remote.get();
  const auto until = clock().steady() + options.server_wait;
  for (Duration pause = first_pause; server != nullptr; pause = std::min(pause * 2, last_pause)) {
    const auto info = wait_for_answer<wire::ServerInfo>(
        [&](Completion<wire::ServerInfo> done) { server->check(std::move(done)); });
    const bool away =
        !info && info.error().code == ErrorCode::unavailable && !info.error().untrusted;
    if (!away || clock().steady() + pause > until) return;
    if (pause == first_pause) {
      log(LogLevel::warning, info.error().message,
          {{"waits_ms", static_cast<std::int64_t>(options.server_wait.count())}});
    }
    std::this_thread::sleep_for(pause);
  }
}

// ---- Beginning ----

worker::WorkerOptions App::Parts::worker_options() const {
  worker::WorkerOptions with{.name = name_of_worker(options, shared->opened.owns_store()),
                             .internal = shared->opened.owns_store(),
                             .processors = options.processors,
                             .order = options.order,
                             .requests = shared->opened.owns_store() ? 1U : 4U,
                             .polls = shared->opened.owns_store() ? 1U : 8U,
                             .idle = options.idle,
                             .error_pause = options.error_pause,
                             .longest_pause = options.longest_pause,
                             .log = log};
  if (manual != nullptr) with.pass_time = [this](Duration time) { manual->advance(time); };
  return with;
}

Result<void> App::Parts::prepare_queue(const std::string& name, const PlannedQueue& planned,
                                       std::vector<worker::QueueHandlers>& handlers) {
  auto queue = store_queue(name, planned);
  if (!queue) {
    queue.error().message = fmt::format("queue {}: {}", name, queue.error().message);
    return std::unexpected(std::move(queue.error()));
  }
  if (queue->settings.number) numbers[name] = queue->settings.number->value;
  if (planned.has_handler()) handlers.push_back(handlers_of(planned, queue->settings));
  return {};
}

Result<Queue> App::Parts::store_queue(const std::string& name, const PlannedQueue& planned,
                                      bool again) {
  auto views = shared->call<std::vector<QueueView>>(
      [&](Broker& to, Ask ask, auto done) { to.queues(ask, name, std::move(done)); });
  if (!views && views.error().code == ErrorCode::not_found) {
    QueueSettings settings{.name = name};
    apply(planned, settings);
    auto made = shared->call<Queue>([&](Broker& to, Ask ask, auto done) {
      to.put_queue(ask, settings, PutQueue::create, std::move(done));
    });
    // Another program created it a moment earlier: its settings stay.
    if (!made && made.error().code == ErrorCode::conflict && !again) {
      return store_queue(name, planned, true);
    }
    return made;
  }
  if (!views) return std::unexpected(std::move(views.error()));
  // Only a program that has something to write needs the right to. What it finds then may be newer
  // than what was read, so that is decided again, inside the change.
  Result<Queue> queue = std::move(views->front().queue);
  QueueSettings settings = queue->settings;
  Applied applied = apply_unless_configured(planned, options.overwrite_settings, settings);
  if (applied == Applied::all) {
    queue = shared->call<Queue>([&](Broker& to, Ask ask, auto done) {
      const auto change = [&](QueueSettings& stored) -> Result<void> {
        applied = apply_unless_configured(planned, options.overwrite_settings, stored);
        return {};
      };
      to.change_queue(ask, name, change, std::move(done));
    });
  }
  if (queue && applied == Applied::none) {
    log(LogLevel::warning,
        fmt::format("the stored settings of queue {} differ from those of the program, and the "
                    "stored ones apply; change the queue, or start once with overwrite_settings",
                    name),
        {{"queue", name}});
  }
  return queue;
}

Result<void> App::Parts::prepare_schedule(const Schedule& planned) {
  auto stored = store_schedule(planned);
  if (!stored) {
    stored.error().message = fmt::format("schedule {}: {}", planned.name, stored.error().message);
    return std::unexpected(std::move(stored.error()));
  }
  if (stored->paused) {
    log(LogLevel::warning,
        fmt::format("schedule {} is paused and stays so until it is resumed", planned.name),
        {{"schedule", planned.name}});
  }
  return {};
}

Result<Schedule> App::Parts::store_schedule(const Schedule& planned, bool again) {
  Schedules& schedules = shared->opened.schedules();
  auto found = shared->call<std::vector<Schedule>>([&](Broker&, Ask ask, auto done) {
    schedules.schedules(ask, planned.name, std::move(done));
  });
  if (!found && found.error().code == ErrorCode::not_found) {
    auto made = shared->call<Schedule>([&](Broker&, Ask ask, auto done) {
      schedules.put_schedule(ask, planned, PutQueue::create, std::move(done));
    });
    // Another program created it a moment earlier.
    if (!made && made.error().code == ErrorCode::conflict && !again) {
      return store_schedule(planned, true);
    }
    return made;
  }
  if (!found) return std::unexpected(std::move(found.error()));
  Schedule wanted = found->front();
  apply(planned, wanted);
  if (wanted == found->front()) return wanted;
  auto changed = shared->call<Schedule>([&](Broker&, Ask ask, auto done) {
    const auto change = [&](Schedule& stored) -> Result<void> {
      apply(planned, stored);
      return {};
    };
    schedules.change_schedule(ask, planned.name, change, std::move(done));
  });
  if (changed) {
    log(LogLevel::info,
        fmt::format("schedule {} differed from the program and is now as the program says",
                    planned.name),
        {{"schedule", planned.name}});
  }
  return changed;
}

Result<void> App::Parts::prepare() {
  std::vector<worker::QueueHandlers> handlers;
  for (const auto& [name, planned] : plan.queues) {
    if (auto good = prepare_queue(name, planned, handlers); !good) return good;
  }
  for (const Schedule& schedule : plan.schedules) {
    if (auto good = prepare_schedule(schedule); !good) return good;
  }
  auto made =
      std::make_unique<worker::Worker>(clock(), broker(), worker_options(), std::move(handlers));
  const Lock lock(signals_mutex);
  worker = std::move(made);
  return {};
}

Result<void> App::Parts::begin_delivering() {
  const WebhookOptions& webhooks = options.webhooks;
  if (!shared->opened.owns_store() || webhooks.concurrency == 0) return {};
  worker::DelivererOptions with{.concurrency = webhooks.concurrency, .log = log};
  for (const std::string& text : webhooks.secrets) {
    auto secret = outgoing::parse_secret(text);
    if (!secret) return std::unexpected(std::move(secret.error()));
    with.deliver.secrets.push_back(std::move(*secret));
  }
  auto guard = worker::parse_guard(webhooks.allow_private);
  if (!guard) return std::unexpected(std::move(guard.error()));
  with.guard = std::move(*guard);
  deliverer.emplace(clock(), broker(), std::move(with));
  return {};
}

Result<void> App::Parts::begin(bool threads) {
  if (begun) return fail(ErrorCode::conflict, "the app has started already");
  if (threads && manual != nullptr) {
    return fail(ErrorCode::invalid, "an App with virtual time is driven by step()");
  }
  if (auto good = prepare(); !good) return good;
  if (auto good = listen(); !good) return good;
  if (threads) {
    if (auto good = begin_delivering(); !good) return good;
  }
  begun = true;
  if (threads) worker->start();
  return {};
}

Result<void> App::Parts::begin_when_there(Signals& heeded) {
  Duration pause = options.error_pause;
  while (true) {
    auto good = begin(true);
    const bool away = !good && good.error().code == ErrorCode::unavailable;
    if (!away || shared->opened.owns_store()) return good;
    log(LogLevel::warning, good.error().message,
        {{"again_in_ms", static_cast<std::int64_t>(pause.count())}});
    const SignalKind heard = heeded.wait(pause);
    if (heard == SignalKind::stop) told_to_stop = true;
    if (told_to_stop) return {};
    pause = std::min(pause * 2, options.longest_pause);
  }
}

// ---- Ending ----

int App::Parts::end() {
  const Lock lock(end_mutex);
  if (ended) return *ended;
  int code = EXIT_SUCCESS;
  if (worker) {
    const worker::Stopped stopped = worker->graceful_stop(options.shutdown_timeout);
    stuck = stopped.running != 0;
    if (stopped.interrupted != 0) code = options.shutdown_timeout_exit_code;
  }
  if (listener) listener->stop();
  if (deliverer) deliverer->stop(deliveries_patience);
  if (const auto closed = shared->opened.close(clock().now()); !closed) {
    log(LogLevel::error, closed.error().message);
    code = EXIT_FAILURE;
  }
  writer->stop(log_patience);
  ended = code;
  return code;
}

// ---- Virtual time ----

Result<std::uint64_t> App::Parts::run_ready() {
  std::uint64_t runs = 0;
  while (true) {
    const auto ended_now = worker->step();
    if (!ended_now) return std::unexpected(ended_now.error());
    if (*ended_now == 0) return runs;
    runs += *ended_now;
    shared->opened.local->run_services();
  }
}

// When a group may have room again that has none now, of those that are looked at.
TimePoint App::Parts::next_of_groups(const std::string& queue, const GroupRules& rules,
                                     TimePoint now) {
  TimePoint next = never;
  const auto wait_for_rate = [&](const std::optional<Rate>& rate) {
    if (rate) next = std::min(next, later(now, std::max(rate->per / rate->max, Duration(1))));
  };
  wait_for_rate(rules.process_rate);
  const auto page = shared->call<GroupPage>([&](Broker& to, Ask ask, auto done) {
    to.groups(ask, {.queue = queue, .limit = limits::max_page}, std::move(done));
  });
  if (!page) return next;
  const auto look = [&](const std::optional<TimePoint>& moment) {
    if (moment && *moment > now) next = std::min(next, *moment);
  };
  for (const Group& group : page->groups) {
    if (group.waiting == 0) continue;
    if (!group.override) continue;
    wait_for_rate(group.override->process_rate);
    look(group.override->paused_until), look(group.override->until);
  }
  return next;
}

TimePoint App::Parts::next_moment(TimePoint most) {
  const TimePoint now = clock().now();
  TimePoint next = std::min(most, shared->opened.local->next_due());
  // Tasks that wait for a rate limit are due when the next may start; upkeep does not know that
  // moment.
  for (const auto& [name, planned] : plan.queues) {
    if (!planned.has_handler()) continue;
    const auto views = shared->call<std::vector<QueueView>>(
        [&](Broker& to, Ask ask, auto done) { to.queues(ask, name, std::move(done)); });
    if (!views) continue;
    const QueueSettings& settings = views->front().queue.settings;
    if (views->front().counts.ready() == 0) continue;
    if (settings.groups) next = std::min(next, next_of_groups(name, *settings.groups, now));
    if (!settings.process_rate) continue;
    if (settings.paused_until && *settings.paused_until > now) continue;
    const Duration step = settings.process_rate->per / settings.process_rate->max;
    next = std::min(next, later(now, std::max(step, Duration(1))));
  }
  return std::max(next, now);
}

// ---- While the store is away ----

std::optional<Put> App::Parts::run_in_place(const NewTask& task) {
  const auto* queue = std::get_if<std::string>(&task.queue);
  if (queue == nullptr || !plan.is_critical(*queue, task.type)) return std::nullopt;
  // A store for this one task only, which ends with it.
  const auto store = open_memory();
  LocalBrokerOptions rules;
  rules.keep_time = false;
  LocalBroker alone(clock(), *store, rules);
  const QueueSettings settings{.name = *queue, .retry = {.max_retries = 0}};
  std::vector<worker::QueueHandlers> handlers;
  handlers.push_back(handlers_of(plan.queues.at(*queue), settings));
  worker::Worker one(clock(), alone, {.name = std::string(local_worker), .internal = true},
                     std::move(handlers));
  NewTask now = task;
  now.start = std::nullopt;
  now.delay = std::nullopt;
  now.callback = std::nullopt;
  now.retry = RetryRules{.max_retries = 0};
  const auto put = wait_for_answer<std::vector<Result<Put>>>([&](auto done) {
    alone.put({.caller = alone.new_caller()}, {std::move(now)}, std::move(done));
  });
  if (!put || !put->front()) return std::nullopt;
  const auto ran = one.step();
  if (!ran || *ran == 0) return std::nullopt;
  const auto after = wait_for_answer<Task>([&](auto done) {
    alone.find({.caller = alone.new_caller()}, put->front()->id, std::move(done));
  });
  if (!after || after->state != TaskState::completed) return std::nullopt;
  // What the task put would be lost with the store, and cannot be put elsewhere now, so it is an
  // error.
  const auto counts = wait_for_answer<std::vector<QueueView>>([&](auto done) {
    alone.queues({.caller = alone.new_caller()}, std::nullopt, std::move(done));
  });
  std::uint64_t left = 0;
  for (const QueueView& view : counts.value_or(std::vector<QueueView>())) {
    left += view.counts.waiting();
  }
  if (left != 0) {
    log(LogLevel::error, "a critical task was run in place, but its follow-ups are lost",
        {{"queue", *queue}, {"tasks", static_cast<std::int64_t>(left)}});
    return std::nullopt;
  }
  log(LogLevel::warning, "the store is away: a critical task was run in place",
      {{"queue", *queue}, {"type", task.type}});
  return Put{.id = put->front()->id, .number = {}, .state = TaskState::completed};
}

}  // namespace millrace
