#include "broker/alerter.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "broker/queue_book.h"
#include "core/mutex.h"
#include "store/store.h"

namespace millrace {
namespace {

constexpr std::size_t most_unsent = 200;

bool is_stopped(const QueueSettings& settings, TimePoint now) {
  return !settings.active || (settings.paused_until && *settings.paused_until > now);
}

}  // namespace

Result<TimePoint> Alerter::run_once(Store& store, TimePoint now) {
  const auto seen = look(store, now);
  if (!seen) return std::unexpected(seen.error());
  for (Alert& alert : conditions_.look(*seen)) report(std::move(alert), now);
  keep_current(*seen);
  for (HeldBack& held : books_.alerts_sent.ended(now)) {
    Alert alert{.facts = {.kind = held.key.kind,
                          .title = title_of(held.key.queue, held.key.type),
                          .held_back = held.count,
                          .since = held.since},
                .queue = std::move(held.key.queue),
                .type = std::move(held.key.type)};
    alert.message =
        fmt::format("{}: {} more since the last alert", message_of(held.key.kind), held.count);
    report(std::move(alert), now);
  }
  if (auto sent = send(store, now); !sent) return std::unexpected(std::move(sent.error()));
  return later(now, options_.every);
}

Result<Look> Alerter::look(Store& store, TimePoint now) {
  Look look{.at = now};
  const auto counts = store.counts(std::nullopt, now);
  if (!counts) return std::unexpected(counts.error());
  look.queues.reserve(counts->size());
  for (const QueueCounts& each : *counts) {
    const auto queue = books_.queues.find(each.queue);
    // Alerts about alerts would be alerts about themselves.
    if (!queue || each.queue == alerts_queue) continue;
    const QueueSettings& settings = queue->settings;
    const QueueStats stats = books_.metrics.of(each.queue, now);
    QueueLook& one = look.queues.emplace_back();
    one.name = each.queue;
    one.ready = each.ready();
    one.waiting = one.ready + each.later();
    one.running = each.taken();
    one.taken = stats.taken;
    one.lost = stats.lost;
    one.dead = each.of(TaskState::failed) + each.of(TaskState::dead);
    one.max_depth = settings.max_depth;
    one.last_asked = stats.last_asked;
    if (settings.process_rate) one.rate_per = settings.process_rate->per;
    // Takes by other processes are not counted here; but if tasks run, some worker took them.
    const bool taken_elsewhere = books_.traits.several_processes && one.running != 0;
    one.takes_stopped = is_stopped(settings, now) || taken_elsewhere;
  }
  if (options_.disk) look.disk = options_.disk();
  return look;
}

void Alerter::keep_current(const Look& look) {
  CurrentAlerts current{.alerts = conditions_.holding(), .looked_at = look.at, .disk = look.disk};
  std::ranges::move(growing_.look(look), std::back_inserter(current.alerts));
  current.arrange();
  const Lock lock(mutex_);
  current_ = std::move(current);
}

CurrentAlerts Alerter::current_alerts() const {
  const Lock lock(mutex_);
  return current_;
}

// Every server over a shared store sees the same queue, and one alert about it is enough: the first
// server's. What only one server can see has no key.
std::optional<UniqueKey> Alerter::key_of(const Alert& alert) const {
  const AlertKind kind = alert.facts.kind;
  const bool seen_by_all = kind == AlertKind::queue_deep || kind == AlertKind::no_take ||
                           kind == AlertKind::clock_set_back;
  const Duration window = books_.options.alert_window / 2;
  if (!books_.traits.several_processes || !seen_by_all || window <= Duration::zero()) return {};
  return UniqueKey{.key = fmt::format("{}/{}/{}", name_of(kind), alert.queue,
                                      alert.facts.resolved ? "over" : "on"),
                   .scope = UniqueScope::window,
                   .window = window};
}

void Alerter::report(Alert alert, TimePoint now) {
  books_.log()(alert.facts.level, fmt::format("{}: {}", alert.facts.title, alert.message),
               {{"alert", std::string(name_of(alert.facts.kind))},
                {"queue", alert.queue},
                {"resolved", alert.facts.resolved},
                {"held_back", static_cast<std::int64_t>(alert.facts.held_back)}});
  send_later(std::move(alert), now);
}

// The sweeper, which saw it, has logged it.
void Alerter::clock_set_back(std::string message, TimePoint now) {
  send_later({.facts = {.kind = AlertKind::clock_set_back,
                        .level = LogLevel::warning,
                        .title = "The clock was set back"},
              .message = std::move(message)},
             now);
}

void Alerter::send_later(Alert alert, TimePoint now) {
  if (!books_.deliveries.can_alert()) return;
  auto key = key_of(alert);
  const AlertEvent event{.facts = std::move(alert.facts),
                         .message = std::move(alert.message),
                         .queue = std::move(alert.queue),
                         .type = std::move(alert.type),
                         .at = now};
  unsent_.push_back(books_.deliveries.alert(event, now));
  unsent_.back().unique = std::move(key);
  if (unsent_.size() > most_unsent) unsent_.pop_front();
}

// A full disk cannot store an alert: it is sent when there is room, and is in the log until then.
Result<void> Alerter::send(Store& store, TimePoint now) {
  while (!unsent_.empty()) {
    const auto puts = store.put({&unsent_.front(), 1}, now);
    if (!puts) return std::unexpected(puts.error());
    const auto& put = puts->front();
    if (!put && put.error().code == ErrorCode::limited) return {};
    if (!put) {
      books_.log()(LogLevel::error,
                   fmt::format("an alert could not be stored: {}", put.error().message));
    } else if (!put->existing) {
      pending_records_.put({{unsent_.front()}, books_.queues, now}, now);
    }
    sent_.push_back(std::move(unsent_.front()));
    unsent_.pop_front();
  }
  return {};
}

void Alerter::stored() {
  pending_records_.record(books_);
  sent_.clear();
}

// Puts the alerts again: one that was stored keeps its id, so it is not there twice.
void Alerter::unsure(const Error& /*why*/) {
  pending_records_.drop();
  unsent_.insert(unsent_.begin(), sent_.begin(), sent_.end());
  sent_.clear();
}

}  // namespace millrace
