#include "broker/broker_metrics.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/mutex.h"

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
  // With a clock that was set back, counts go into the newest second.
  if (second > newest_) {
    const std::int64_t from = std::max(newest_ + 1, second - seconds + 1);
    for (std::int64_t at = from; at <= second; ++at) counts_[slot_of(at, seconds)] = 0;
    newest_ = second;
  }
  counts_[slot_of(newest_, seconds)] += n;
}

double MinuteRate::per_second(TimePoint now, TimePoint since) const {
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
  stats_.put += n;
  puts_.add(now, n);
}

void Tally::taken(Duration waited, TimePoint now) {
  ++stats_.taken;
  wait_.add(waited);
  takes_.add(now, 1);
}

void Tally::ended(Event event, std::optional<Duration> run, TimePoint now) {
  if (run) run_.add(*run);
  bool finished = false;
  switch (event) {
    case Event::done:
      ++stats_.completed;
      finished = true;
      break;
    case Event::fail:
    case Event::exhaust:
      ++stats_.failed;
      failures_.add(now, 1);
      finished = true;
      break;
    case Event::cancel:
    case Event::expire:
      ++stats_.cancelled;
      finished = true;
      break;
    case Event::retry:
      ++stats_.retried;
      retries_.add(now, 1);
      break;
    case Event::snooze:
    case Event::park:
      ++stats_.snoozed;
      break;
    case Event::give_back:
      ++stats_.given_back;
      break;
    case Event::lose:
      ++stats_.lost;
      break;
    default:
      break;
  }
  if (finished) finishes_.add(now, 1);
}

QueueStats Tally::stats(TimePoint now) const {
  QueueStats stats = stats_;
  stats.mean_run_seconds = run_.value();
  stats.mean_wait_seconds = wait_.value();
  stats.put_rate = puts_.per_second(now, stats_.since);
  stats.take_rate = takes_.per_second(now, stats_.since);
  stats.finish_rate = finishes_.per_second(now, stats_.since);
  stats.fail_rate = failures_.per_second(now, stats_.since);
  stats.retry_rate = retries_.per_second(now, stats_.since);
  return stats;
}

// ---- BrokerMetrics
// ------------------------------------------------------------------------------------

BrokerMetrics::BrokerMetrics(TimePoint started, const BrokerMetricsOptions& options)
    : started_(started), options_(options) {
  begin_minute(std::chrono::floor<std::chrono::minutes>(started));
}

// Null: there are already metrics for as many queues as there can be, internal ones included. Other
// names have no metrics.
BrokerMetrics::Entry* BrokerMetrics::entry(std::string_view queue, std::string_view* name) {
  auto found = entries_.find(queue);
  if (found == entries_.end()) {
    if (entries_.size() >= 2 * limits::max_queues) return nullptr;
    found = entries_.emplace(std::string(queue), Entry{.tally = Tally(started_)}).first;
  }
  *name = found->first;
  return &found->second;
}

void BrokerMetrics::Writing::find(std::string_view queue) {
  metrics_.mutex_.assert_held();
  if (last_ != nullptr && last_name_ == queue) return;
  last_ = metrics_.entry(queue, &last_name_);
  last_row_ = {};
}

Tally& BrokerMetrics::Writing::of(std::string_view queue) {
  metrics_.mutex_.assert_held();
  find(queue);
  return last_ == nullptr ? metrics_.others_ : last_->tally;
}

const BrokerMetrics::Row& BrokerMetrics::Writing::row(std::string_view queue,
                                                      std::string_view type) {
  metrics_.mutex_.assert_held();
  find(queue);
  if (last_row_.type != nullptr && last_ != nullptr && last_type_ == type) return last_row_;
  const Place place = metrics_.place_of(last_, last_name_, type);
  last_type_ = place.type;
  last_row_ = {.queue = last_ == nullptr ? &metrics_.others_ : &last_->tally,
               .type = place.tally,
               .minute = metrics_.row_of(place)};
  return last_row_;
}

void BrokerMetrics::Writing::ended(std::string_view type, std::uint8_t priority, bool completed,
                                   std::optional<Duration> run) {
  metrics_.mutex_.assert_held();
  if (!metrics_.options_.priorities) return;
  auto& all = metrics_.priorities_;
  auto found = all.find(type);
  if (found == all.end()) {
    const bool fits = all.size() < metrics_.options_.priority_types;
    found = all.try_emplace(std::string(fits ? type : other_name)).first;
  }
  PriorityTally& tally = found->second[static_cast<std::size_t>(class_of(priority))];
  ++(completed ? tally.completed : tally.failed);
  if (run) tally.running.observe(*run);
}

// Where a type is counted: whatever clients send, the number of names is bounded.
BrokerMetrics::Place BrokerMetrics::place_of(Entry* entry, std::string_view queue,
                                             std::string_view type) {
  if (entry != nullptr) {
    auto& types = entry->types;
    auto found = types.find(type);
    if (found == types.end() && types.size() >= options_.types_per_queue) {
      type = other_name;
      found = types.find(type);
    }
    if (found == types.end() && types_ < options_.types) {
      found = types.try_emplace(std::string(type)).first;
      ++types_;
    }
    if (found == types.end()) found = types.find(other_name);
    if (found != types.end()) return {&found->second, queue, found->first};
  }
  return {&other_types_, other_name, other_name};
}

MinuteRow* BrokerMetrics::row_of(const Place& place) {
  if (!options_.minutes) return nullptr;
  TypeTally& tally = *place.tally;
  if (tally.number == minute_number_) return tally.row;
  // A queue that is made and removed again and again has a row each time.
  if (minute_->rows.size() >= 2 * options_.types && &tally != &other_types_) {
    return row_of({&other_types_, other_name, other_name});
  }
  minute_->rows.push_back(std::make_unique<MinuteRow>(
      MinuteRow{.queue = std::string(place.queue), .type = std::string(place.type)}));
  tally.row = minute_->rows.back().get();
  tally.number = minute_number_;
  return tally.row;
}

void BrokerMetrics::turn(TimePoint now) {
  if (!options_.minutes) return;
  constexpr std::chrono::minutes minute(1);
  // Threads may arrive out of order, by a little. A clock that was set back is another matter.
  constexpr std::chrono::minutes back(5);
  if (now < minute_->at + minute && now >= minute_->at - back) return;
  constexpr std::size_t most_finished = 3;
  if (!minute_->rows.empty()) {
    if (finished_.size() == most_finished) finished_.erase(finished_.begin());
    finished_.push_back(minute_);
  }
  begin_minute(std::chrono::floor<std::chrono::minutes>(now));
}

void BrokerMetrics::begin_minute(TimePoint at) {
  minute_ = std::make_shared<Minute>(Minute{.at = at});
  ++minute_number_;
}

QueueStats BrokerMetrics::of(std::string_view queue, TimePoint now) {
  const Lock lock(mutex_);
  const auto found = entries_.find(queue);
  if (found == entries_.end()) return {.since = started_};
  return found->second.tally.stats(now);
}

RateWindow BrokerMetrics::window(std::string_view queue) {
  const Lock lock(mutex_);
  const auto found = entries_.find(queue);
  return found == entries_.end() ? RateWindow{} : found->second.tally.window();
}

void BrokerMetrics::forget(std::string_view queue) {
  const Lock lock(mutex_);
  const auto found = entries_.find(queue);
  if (found == entries_.end()) return;
  types_ -= found->second.types.size();
  entries_.erase(found);
}

// Queue by queue, so that writers never wait for all of them.
std::vector<TypeMetrics> BrokerMetrics::types() {
  std::vector<TypeMetrics> all;
  std::string after;
  Lock lock(mutex_);
  for (auto at = entries_.begin(); at != entries_.end(); at = entries_.upper_bound(after)) {
    after = at->first;
    for (const auto& [type, tally] : at->second.types) all.push_back(tally.metrics(after, type));
    lock.unlock();
    lock.lock();
  }
  const auto& others = other_types_.counts;
  if (std::ranges::any_of(others, [](std::uint64_t count) { return count != 0; })) {
    all.push_back(other_types_.metrics(std::string(other_name), std::string(other_name)));
  }
  return all;
}

std::vector<PriorityMetrics> BrokerMetrics::priorities() {
  const Lock lock(mutex_);
  std::vector<PriorityMetrics> all;
  for (const auto& [type, tallies] : priorities_) {
    for (std::size_t i = 0; i < tallies.size(); ++i) {
      const PriorityTally& tally = tallies[i];
      if (tally.completed == 0 && tally.failed == 0) continue;
      all.push_back({.type = type,
                     .priority = static_cast<PriorityClass>(i),
                     .completed = tally.completed,
                     .failed = tally.failed,
                     .running = tally.running.snapshot()});
    }
  }
  return all;
}

std::vector<std::pair<ErrorCode, std::uint64_t>> BrokerMetrics::refused() {
  const Lock lock(mutex_);
  std::vector<std::pair<ErrorCode, std::uint64_t>> all;
  for (std::size_t i = 0; i < refused_.size(); ++i) {
    if (refused_[i] != 0) all.emplace_back(static_cast<ErrorCode>(i), refused_[i]);
  }
  return all;
}

std::uint64_t BrokerMetrics::late_reports() {
  const Lock lock(mutex_);
  return late_reports_;
}

std::vector<std::shared_ptr<const Minute>> BrokerMetrics::finished(TimePoint now, bool all) {
  const Lock lock(mutex_);
  turn(now);
  std::vector<std::shared_ptr<const Minute>> minutes(finished_.begin(), finished_.end());
  finished_.clear();
  if (all && !minute_->rows.empty()) {
    minutes.push_back(minute_);
    begin_minute(minute_->at);
  }
  return minutes;
}

void BrokerMetrics::each_row(TimePoint now, const Visit& visit) {
  // So that writers wait for microseconds at most, however many rows there are.
  constexpr std::size_t rows_at_once = 64;
  std::vector<std::shared_ptr<Minute>> minutes;
  {
    const Lock lock(mutex_);
    turn(now);
    minutes = finished_;
    minutes.push_back(minute_);
  }
  for (const auto& minute : minutes) {
    std::size_t next = 0;
    for (bool more = true; more;) {
      const Lock lock(mutex_);
      const std::size_t end = std::min(next + rows_at_once, minute->rows.size());
      for (; next < end; ++next) visit(minute->at, *minute->rows[next]);
      more = next < minute->rows.size();
    }
  }
}

std::vector<std::pair<TimePoint, RowSum>> BrokerMetrics::sum_minutes(TimePoint now,
                                                                     const Wanted& wanted) {
  std::vector<std::pair<TimePoint, RowSum>> sums;
  each_row(now, [&](TimePoint minute, const MinuteRow& row) {
    if (!wanted(minute, row.queue, row.type)) return;
    if (sums.empty() || sums.back().first != minute) sums.emplace_back(minute, RowSum{});
    sums.back().second.add(row);
  });
  std::erase_if(sums, [](const auto& each) { return each.second.empty(); });
  return sums;
}

}  // namespace millrace
