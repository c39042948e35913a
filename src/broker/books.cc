#include "broker/books.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <utility>

#include "broker/batches.h"
#include "broker/dead_letter.h"
#include "core/decide.h"
#include "core/seed.h"
#include "core/time_text.h"
#include "core/uuid.h"
#include "store/store.h"

namespace millrace {
namespace {

// SplitMix64: any counter gives an even sequence.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

}  // namespace

Books::Books(const BooksOptions& given, const Traits& store_traits, TimePoint now)
    : Books(given, store_traits, now, given.seed ? *given.seed : random_seed()) {}

Books::Books(const BooksOptions& given, const Traits& store_traits, TimePoint now,
             std::uint64_t seed)
    : options(given),
      traits(store_traits),
      ids(seed),
      leases(given.leases),
      metrics(now, {.priorities = given.priority_metrics, .minutes = given.history}),
      alerts_sent(given.alert_window),
      deliveries(given.webhooks, given.alerts, alerts_sent, ids),
      waiters(
          {.most = given.waiters, .poll = store_traits.several_processes || store_traits.recovers}),
      events(mixed(seed + 2)),
      random_(mixed(seed + 1)) {}

double Books::random() {
  const std::uint64_t bits = mixed(random_.fetch_add(0x9E3779B97F4A7C15ULL));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

Result<QueueSettings> Books::settings_of(Store& store, const std::string& queue) {
  if (const auto known = queues.find(queue)) return known->settings;
  auto found = queues.look_up(store, queue);
  if (found) return (*found)->settings;
  if (found.error().code == ErrorCode::unavailable) return std::unexpected(found.error());
  return QueueSettings{};
}

Result<void> Books::check_internal(bool internal, const Queue& queue) {
  if (internal || !is_internal(queue.settings.name)) return {};
  return fail(ErrorCode::invalid, fmt::format("queue {} is internal", queue.settings.name),
              "queue");
}

Result<void> Books::find_queue(Store& store, const QueueRef& queue, bool internal) {
  auto found = queues.look_up(store, queue);
  if (found) return check_internal(internal, **found);
  if (found.error().code != ErrorCode::not_found) return std::unexpected(std::move(found.error()));
  if (!std::holds_alternative<std::string>(queue)) {
    return fail(ErrorCode::not_found,
                fmt::format("there is no queue {}; only a put that gives the name of a queue "
                            "creates it",
                            text_of(queue)));
  }
  if (!options.create_unknown_queues) {
    return fail(ErrorCode::not_found,
                fmt::format("there is no queue {}; create it first, or let unknown queues be "
                            "created (create_unknown_queues)",
                            text_of(queue)));
  }
  return fail(ErrorCode::not_found,
              fmt::format("there is no queue {}; the first put creates it", text_of(queue)));
}

Result<void> Books::check_room_for_queue(std::uint64_t key) {
  const auto full = [](std::string message) {
    return std::unexpected(
        Error{.code = ErrorCode::limited, .message = std::move(message), .lasting = true});
  };
  if (queues.count() >= options.max_queues) {
    return full(
        fmt::format("there are {} queues, as many as the setting queues.max_queues allows; "
                    "remove queues that are not needed, or raise it (to {} at most)",
                    options.max_queues, limits::max_queues));
  }
  const auto made = made_by_.find(key);
  if (key == 0 || made == made_by_.end()) return {};
  std::vector<std::string>& names = made->second;
  if (names.size() < options.max_queues_per_key) return {};
  std::erase_if(names, [&](const std::string& name) { return !queues.find(name); });
  if (names.size() < options.max_queues_per_key) return {};
  return full(
      fmt::format("this key has created {} queues, as many as the setting "
                  "queues.max_per_key allows; remove some, raise it, or let a key with "
                  "the scope admin create the queue",
                  options.max_queues_per_key));
}

Result<void> Books::need_queue(Store& store, const QueueRef& queue, const Ask& ask, TimePoint now) {
  auto found = find_queue(store, queue, ask.internal);
  const auto* name = std::get_if<std::string>(&queue);
  const bool creates = !found && found.error().code == ErrorCode::not_found && name != nullptr &&
                       options.create_unknown_queues;
  if (!creates) return found;
  if (auto room = check_room_for_queue(ask.key); !room) return room;
  QueueSettings settings = options.new_queue;
  settings.name = *name;
  settings.number.reset();
  settings.id = ids.next(now);
  auto made = store.put_queue(settings, PutQueue::create, now);
  if (!made) return std::unexpected(std::move(made.error()));
  queues.set(std::move(*made));
  if (ask.key != 0) made_by_[ask.key].push_back(*name);
  log()(LogLevel::info, fmt::format("queue {} created for its first task", *name),
        {{"queue", *name}});
  return {};
}

Settlement Books::decide(const LeaseNote& note, Outcome& outcome, std::vector<NewTask>& follow_ups,
                         const QueueSettings& queue, const DeadTask* task, TimePoint now) {
  Settlement settlement;
  if (auto* done = std::get_if<Done>(&outcome)) {
    // As core/decide does it, without a copy of the result.
    std::string result = std::exchange(done->result, {});
    settlement = millrace::decide(lease_of(note), outcome, queue, options.retry, now, 0);
    settlement.result = std::move(result);
  } else {
    settlement = millrace::decide(lease_of(note), outcome, queue, options.retry, now, random());
  }
  settlement.follow_ups = std::move(follow_ups);
  if (task != nullptr && makes_dead_letter(settlement.event, queue)) {
    add_dead_letter(settlement, *task, queue, ids, now);
  }
  deliveries.add_to(settlement, subject_of(note), now);
  return settlement;
}

bool Books::will_make_dead_letter(const LeaseNote& note, const Outcome& outcome,
                                  const QueueSettings& queue, TimePoint now) const {
  if (queue.dead_letter_queue.empty()) return false;
  if (!std::holds_alternative<Failed>(outcome) && !std::holds_alternative<RetryAt>(outcome)) {
    return false;
  }
  const Settlement settlement =
      millrace::decide(lease_of(note), outcome, queue, options.retry, now, 0);
  return makes_dead_letter(settlement.event, queue);
}

Settlement Books::decide_cancelled(const LeaseNote& note, const Settlement& refused,
                                   TimePoint now) {
  Settlement settlement = millrace::decide_cancelled(refused, now);
  deliveries.add_to(settlement, subject_of(note), now);
  return settlement;
}

Result<WorkResult> work_in_batches(Store& store, std::size_t batch, const Work& work,
                                   TimePoint now) {
  WorkResult result;
  std::optional<Error> failure;
  each_batch_of_work(work.settlements, work.extensions, work.takes, batch,
                     [&](std::span<const Settlement> settle, std::span<const Extension> extend,
                         std::span<const TakeRequest> take) {
                       auto answer = store.work(settle, extend, take, now);
                       if (!answer) {
                         failure = std::move(answer.error());
                         return false;
                       }
                       append(result.settled, answer->settled);
                       append(result.extended, answer->extended);
                       append(result.taken, answer->taken);
                       result.more = result.more || answer->more;
                       return true;
                     });
  if (failure) return std::unexpected(std::move(*failure));
  return result;
}

void log_settled(const Log& log, const std::string& queue, const Settlement& settlement) {
  // The log has what alerts are about, whether or not alerts are sent.
  const TaskAlert alert = alert_about(settlement.event, settlement.error);
  const bool ends_badly = settlement.event == Event::fail || settlement.event == Event::exhaust;
  const bool is_grave = ends_badly && alert.kind != AlertKind::task_failed;
  const LogLevel level = is_grave     ? LogLevel::error
                         : ends_badly ? LogLevel::warning
                         : settlement.event == Event::retry || settlement.event == Event::lose
                             ? LogLevel::info
                             : LogLevel::debug;
  if (!log.wants(level)) return;
  const std::string task = to_text(settlement.id.value);
  std::string text;
  switch (settlement.event) {
    case Event::done:
      text = fmt::format("task {} done", task);
      break;
    case Event::retry:
      text = fmt::format("Scheduling retry #{} for task {} at {}", settlement.counters.retries,
                         task, format_time(settlement.ready));
      break;
    case Event::fail:
      text = fmt::format("task {} failed", task);
      break;
    case Event::exhaust:
      text = fmt::format("task {} failed and has no retry left", task);
      break;
    case Event::snooze:
      text = fmt::format("task {} snoozed until {}", task, format_time(settlement.ready));
      break;
    case Event::park:
      text = settlement.ready == never
                 ? fmt::format("task {} parked until it is released", task)
                 : fmt::format("task {} parked until it is released, at the latest {}", task,
                               format_time(settlement.ready));
      break;
    case Event::give_back:
      text = fmt::format("task {} given back", task);
      break;
    case Event::lose:
      text = fmt::format("the worker of task {} was lost; the task is queued again", task);
      break;
    case Event::cancel:
      text = fmt::format("task {} cancelled", task);
      break;
    case Event::expire:
      text = fmt::format("task {} was not started in time", task);
      break;
    default:
      return;
  }
  std::vector<std::pair<std::string_view, LogValue>> facts = {{"task", task}, {"queue", queue}};
  if (!alert.message.empty()) facts.emplace_back("alert", std::string(alert.message));
  if (settlement.error) {
    facts.emplace_back("code", settlement.error->code);
    facts.emplace_back("error", settlement.error->message);
  }
  log(level, std::move(text), std::move(facts));
}

}  // namespace millrace
