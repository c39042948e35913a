#include "broker/figures.h"

#include <algorithm>

#include "core/limits.h"

namespace millrace {
namespace {

std::int64_t second_of(TimePoint now) {
  return std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
}

std::size_t slot_of(std::int64_t second, std::int64_t slots) {
  return static_cast<std::size_t>((second % slots + slots) % slots);
}

}  // namespace

void MinuteRate::add(TimePoint now, std::uint32_t n) {
  const std::int64_t second = second_of(now);
  // A clock that was set back counts into the newest second it has.
  if (second > newest_) {
    const std::int64_t from = std::max(newest_ + 1, second - seconds + 1);
    for (std::int64_t at = from; at <= second; ++at) counts_[slot_of(at, seconds)] = 0;
    newest_ = second;
  }
  counts_[slot_of(newest_, seconds)] += n;
}

double MinuteRate::a_second(TimePoint now, TimePoint since) const {
  const std::int64_t second = second_of(now);
  double sum = 0;
  for (std::int64_t at = std::max(second - seconds + 1, newest_ - seconds + 1); at <= newest_;
       ++at) {
    sum += counts_[slot_of(at, seconds)];
  }
  const double age = std::chrono::duration<double>(now - since).count();
  return sum / std::clamp(age, 1.0, static_cast<double>(seconds));
}

void Tally::put(std::uint32_t n, TimePoint now) {
  figures_.put += n;
  puts_.add(now, n);
}

void Tally::taken(Duration waited, TimePoint now) {
  ++figures_.taken;
  wait_.add(waited);
  takes_.add(now, 1);
}

void Tally::ended(Event event, std::optional<Duration> run, TimePoint now) {
  if (run) run_.add(*run);
  bool finished = false;
  switch (event) {
    case Event::done:
      ++figures_.completed;
      finished = true;
      break;
    case Event::fail:
    case Event::exhaust:
      ++figures_.failed;
      finished = true;
      break;
    case Event::cancel:
    case Event::expire:
      ++figures_.cancelled;
      finished = true;
      break;
    case Event::retry:
      ++figures_.retried;
      break;
    case Event::snooze:
      ++figures_.snoozed;
      break;
    case Event::give_back:
      ++figures_.given_back;
      break;
    case Event::lose:
      ++figures_.lost;
      break;
    default:
      break;
  }
  if (finished) finishes_.add(now, 1);
}

QueueFigures Tally::figures(TimePoint now) const {
  QueueFigures figures = figures_;
  figures.mean_run_seconds = run_.value();
  figures.mean_wait_seconds = wait_.value();
  figures.put_rate = puts_.a_second(now, figures_.since);
  figures.take_rate = takes_.a_second(now, figures_.since);
  figures.finish_rate = finishes_.a_second(now, figures_.since);
  return figures;
}

Tally& Figures::Writing::of(std::string_view queue) {
  if (last_ != nullptr && last_name_ == queue) return *last_;
  auto found = figures_.tallies_.find(queue);
  if (found == figures_.tallies_.end()) {
    // As many as there can be queues, and the internal ones; whatever else is named has no figures.
    if (figures_.tallies_.size() >= 2 * limits::max_queues) return figures_.others_;
    found = figures_.tallies_.emplace(std::string(queue), Tally(figures_.started_)).first;
  }
  last_name_ = found->first;
  last_ = &found->second;
  return *last_;
}

QueueFigures Figures::of(std::string_view queue, TimePoint now) {
  const std::scoped_lock lock(mutex_);
  const auto found = tallies_.find(queue);
  if (found == tallies_.end()) return {.since = started_};
  return found->second.figures(now);
}

RateWindow Figures::window(std::string_view queue) {
  const std::scoped_lock lock(mutex_);
  const auto found = tallies_.find(queue);
  return found == tallies_.end() ? RateWindow{} : found->second.window();
}

void Figures::forget(std::string_view queue) {
  const std::scoped_lock lock(mutex_);
  const auto found = tallies_.find(queue);
  if (found != tallies_.end()) tallies_.erase(found);
}

}  // namespace millrace
