// What Conditions decides. What it is given, and by whom: alerter.h.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "broker/alerter.h"

namespace millrace {
namespace {

constexpr Duration longest_rest = std::chrono::hours(4);

// A clock that was set back must not keep an alert waiting.
Duration passed(TimePoint since, TimePoint now) {
  return now < since ? longest_rest : now - since;
}

std::string minutes_text(Duration time) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(time).count();
  if (minutes == 0) return fmt::format("{} s", time.count() / 1000);
  return fmt::format("{} min", minutes);
}

std::string gib_text(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(1U << 30U));
}

std::uint64_t depth_limit(const QueueLook& queue, const AlertLimits& limits) {
  if (limits.depth == 0 || !queue.max_depth) return limits.depth;
  return std::max<std::uint64_t>(*queue.max_depth / 10 * 9 + *queue.max_depth % 10 * 9 / 10, 1);
}

std::string why_untaken(const QueueLook& queue) {
  if (queue.running != 0) return fmt::format("; {} are running", queue.running);
  if (!queue.last_asked) return "; no worker has ever asked for them";
  return "; no worker runs any of them";
}

Alert alert_of(LogLevel level, std::string title, std::string message, std::uint64_t count) {
  return {.facts = {.level = level, .title = std::move(title)},
          .message = std::move(message),
          .count = count};
}

}  // namespace

std::vector<Alert> Conditions::look(const Look& look) {
  alerts_.clear();
  for (const QueueLook& queue : look.queues) look_at(queue, look.at);
  if (look.disk) look_at(*look.disk, look.at);
  forget_old(look);
  return std::exchange(alerts_, {});
}

void Conditions::look_at(const QueueLook& queue, TimePoint now) {
  Seen& seen = seen_.try_emplace(queue.name, Seen{queue.taken, queue.lost, now}).first->second;

  const std::uint64_t limit = depth_limit(queue, limits_);
  const bool was_deep = holds(AlertKind::queue_deep, queue.name);
  // The first task that is taken does not end it: a queue near its limit would alert all day.
  const bool deep = limit != 0 && queue.waiting > (was_deep ? limit / 5 * 4 : limit);
  set(AlertKind::queue_deep, queue.name, deep,
      alert_of(LogLevel::warning, fmt::format("Queue over its depth: {}", queue.name),
               fmt::format("{} tasks wait in queue {}{}; the alert is at {}", queue.waiting,
                           queue.name, deep ? "" : " now", limit),
               queue.waiting),
      now);

  const bool moved = queue.ready == 0 || queue.takes_stopped || queue.taken != seen.taken;
  if (moved || now < seen.moved) seen.moved = now;
  seen.taken = queue.taken;
  const Duration patience = std::max(limits_.no_take_after, queue.rate_per);
  const Duration waited = now - seen.moved;
  const bool untaken =
      limits_.no_take_after > Duration::zero() && queue.ready != 0 && waited >= patience;
  set(AlertKind::no_take, queue.name, untaken,
      alert_of(LogLevel::warning, fmt::format("No worker takes tasks: {}", queue.name),
               untaken
                   ? fmt::format("{} tasks of queue {} are ready, and none was taken for {}{}",
                                 queue.ready, queue.name, minutes_text(waited), why_untaken(queue))
                   : fmt::format("Tasks of queue {} do not wait for a worker any more", queue.name),
               queue.ready),
      now);

  // BrokerMetrics start again from zero for a queue that was removed and made again.
  const std::uint64_t lost = queue.lost >= seen.lost ? queue.lost - seen.lost : queue.lost;
  seen.lost = queue.lost;
  count_lost(queue.name, limits_.lost && lost > *limits_.lost ? lost : 0, now);
}

void Conditions::look_at(const DiskSpace& disk, TimePoint now) {
  if (limits_.disk_free == 0 || disk.total == 0) return;
  const auto share =
      static_cast<std::uint64_t>(limits_.disk_share * static_cast<double>(disk.total));
  const std::uint64_t limit = std::max(limits_.disk_free, share);
  const bool was_low = holds(AlertKind::disk_low, {});
  const bool low = disk.free < (was_low ? limit + limit / 10 : limit);
  set(AlertKind::disk_low, {}, low,
      alert_of(LogLevel::error, low ? "Disk nearly full" : "Disk has room again",
               fmt::format("{} of {} are free where the store writes; the alert is at {}",
                           gib_text(disk.free), gib_text(disk.total), gib_text(limit)),
               disk.free),
      now);
}

bool Conditions::holds(AlertKind kind, const std::string& queue) const {
  const auto found = conditions_.find({kind, queue});
  return found != conditions_.end() && found->second.holds;
}

std::vector<CurrentAlert> Conditions::holding() const {
  std::vector<CurrentAlert> all;
  for (const auto& [key, condition] : conditions_) {
    if (!condition.holds) continue;
    all.push_back({.kind = key.first,
                   .level = condition.level,
                   .queue = key.second,
                   .since = condition.since,
                   .message = condition.message,
                   .count = condition.count});
  }
  return all;
}

void Conditions::set(AlertKind kind, const std::string& queue, bool holds, Alert alert,
                     TimePoint now) {
  const Key key{kind, queue};
  if (!holds && !conditions_.contains(key)) return;
  Condition& condition = conditions_[key];
  alert.facts.kind = kind;
  alert.queue = queue;
  const bool begins = holds && !condition.holds;
  condition.holds = holds;
  if (begins) condition.since = now;
  if (!holds) {
    condition.held = false;
    if (!condition.reported) return;
    alert.facts.resolved = true;
    alert.facts.level = LogLevel::info;
    if (report(condition, std::move(alert))) condition.reported = false;
    return;
  }
  condition.level = alert.facts.level;
  condition.message = alert.message;
  condition.count = alert.count;
  const Duration rest = passed(condition.reported_at, now);
  const bool ever_reported = condition.rest != Duration::zero();
  if (ever_reported && rest < (condition.reported ? condition.rest : window_)) {
    if (begins) ++condition.held_back;
    condition.held = condition.held || begins;
    return;
  }
  // The one that is reported now was not kept back after all.
  alert.facts.held_back = condition.held_back - (condition.held ? 1 : 0);
  if (!report(condition, std::move(alert))) return;
  condition.rest = condition.reported ? std::min(condition.rest * 2, longest_rest)
                                      : std::max(window_, Duration(1));
  condition.reported = true;
  condition.reported_at = now;
  condition.held = false;
  condition.held_back = 0;
}

// Not a condition: it happens at one moment and has no end. What is held back is reported when the
// window ends.
void Conditions::count_lost(const std::string& queue, std::uint64_t lost, TimePoint now) {
  const Key key{AlertKind::leases_lost, queue};
  if (lost == 0 && !conditions_.contains(key)) return;
  Condition& condition = conditions_[key];
  if (lost != 0 && condition.held_back == 0) condition.since = now;
  condition.held_back += lost;
  const bool ever_reported = condition.rest != Duration::zero();
  if (condition.held_back == 0 || (ever_reported && passed(condition.reported_at, now) < window_))
    return;
  Alert alert =
      alert_of(LogLevel::warning, fmt::format("Leases lost: {}", queue),
               fmt::format("{} {} of queue {} ended without a word from {}; the tasks run again",
                           condition.held_back, condition.held_back == 1 ? "lease" : "leases",
                           queue, condition.held_back == 1 ? "its worker" : "their workers"),
               condition.held_back);
  alert.facts.kind = AlertKind::leases_lost;
  alert.queue = queue;
  if (!report(condition, std::move(alert))) return;
  condition.reported_at = now;
  condition.rest = std::max(window_, Duration(1));
  condition.held_back = 0;
}

bool Conditions::report(const Condition& condition, Alert alert) {
  if (alerts_.size() >= most_) return false;
  alert.facts.since = condition.since;
  alerts_.push_back(std::move(alert));
  return true;
}

// Queues that are gone, and conditions that are over and will not be counted any more.
void Conditions::forget_old(const Look& look) {
  std::set<std::string_view> names;
  for (const QueueLook& queue : look.queues) names.insert(queue.name);
  std::erase_if(seen_, [&](const auto& entry) { return !names.contains(entry.first); });
  for (auto entry = conditions_.begin(); entry != conditions_.end();) {
    const auto& [kind, queue] = entry->first;
    const Condition& condition = entry->second;
    const bool gone = !queue.empty() && !names.contains(queue);
    if (gone && condition.reported) {
      set(kind, queue, false,
          alert_of(LogLevel::info, fmt::format("Queue removed: {}", queue),
                   fmt::format("Queue {} is gone", queue), 0),
          look.at);
    }
    const bool idle = !condition.holds && !condition.reported && condition.held_back == 0 &&
                      passed(condition.reported_at, look.at) >= window_;
    entry = idle || (gone && !condition.reported) ? conditions_.erase(entry) : std::next(entry);
  }
}

}  // namespace millrace
