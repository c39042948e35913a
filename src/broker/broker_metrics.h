// What happened in each queue since the broker started: counters, means, rates of the last minute;
// and the same by type of task, with how long tasks waited and ran, for metrics and history.
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/broker.h"
#include "broker/metrics_snapshot.h"
#include "broker/type_tally.h"
#include "core/mutex.h"
#include "core/rate_window.h"

namespace millrace {

// How many per second, over the last minute.
class MinuteRate {
 public:
  void add(TimePoint now, std::uint32_t n);
  // `since` is when counting began: a young counter has less than a minute to divide by.
  double per_second(TimePoint now, TimePoint since) const;

 private:
  static constexpr std::int64_t seconds = 60;
  std::array<std::uint32_t, seconds> counts_ = {};  // second s is at s mod 60
  std::int64_t newest_ = 0;
};

// Sums of seconds.
struct Mean {
  double sum = 0;
  std::uint64_t count = 0;

  // A negative one (clocks!) counts as zero.
  void add(Duration duration) {
    sum += duration > Duration::zero() ? std::chrono::duration<double>(duration).count() : 0;
    ++count;
  }
  double value() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

// The metrics of one queue.
class Tally {
 public:
  explicit Tally(TimePoint since) { stats_.since = since; }

  void put(std::uint32_t n, TimePoint now);
  void asked(TimePoint now) { stats_.last_asked = now; }
  // `waited`: from ready to taken.
  void taken(Duration waited, TimePoint now);
  // If the queue has a rate, this mirrors the store's window.
  void used(const Rate& rate, std::uint32_t n, TimePoint now) { window_.add(rate, now, n); }
  // A run that began then and was noted with one cost has really had another.
  void corrected(const Rate& rate, TimePoint then, std::uint32_t noted, std::uint32_t real,
                 TimePoint now) {
    window_.correct(rate, then, now, noted, real);
  }
  // A run ended with this event after this time; a wait that ended has no run.
  void ended(Event event, std::optional<Duration> run, TimePoint now);

  QueueStats stats(TimePoint now) const;
  const RateWindow& window() const { return window_; }

 private:
  QueueStats stats_;
  Mean run_;
  Mean wait_;
  MinuteRate puts_;
  MinuteRate takes_;
  MinuteRate finishes_;
  MinuteRate failures_;
  MinuteRate retries_;
  RateWindow window_;
};

// One more than the largest ErrorCode.
inline constexpr std::size_t error_codes = 10;

struct BrokerMetricsOptions {
  std::size_t types_per_queue = 50;  // whatever is beyond counts as the type `other` of its queue,
  std::size_t types = 10'000;        // and beyond this one as that of the queue `other`
  std::size_t priority_types = 1000;
  bool priorities = false;  // keeps metrics by type and priority
  bool minutes = false;     // keeps what happened minute by minute, for the history
};

class BrokerMetrics {
  struct Entry {
    Tally tally;
    std::map<std::string, TypeTally, std::less<>> types = {};
  };

 public:
  explicit BrokerMetrics(TimePoint started, const BrokerMetricsOptions& options = {});
  TimePoint started() const { return started_; }

  // Where an event is counted.
  struct Row {
    Tally* queue = nullptr;
    TypeTally* type = nullptr;
    MinuteRow* minute = nullptr;  // null: minutes are not kept
  };

  // One lock for everything that a request counts.
  class SCOPED_CAPABILITY Writing {
   public:
    explicit Writing(BrokerMetrics& metrics) ACQUIRE(metrics.mutex_)
        : metrics_(metrics), lock_(metrics.mutex_) {}
    Writing(BrokerMetrics& metrics, TimePoint now) ACQUIRE(metrics.mutex_) : Writing(metrics) {
      metrics.turn(now);
    }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    ~Writing() RELEASE() = default;
    Tally& of(std::string_view queue);
    const Row& row(std::string_view queue, std::string_view type);
    // By type and priority, if that is switched on.
    void ended(std::string_view type, std::uint8_t priority, bool completed,
               std::optional<Duration> run);
    void refused(ErrorCode code) {
      metrics_.mutex_.assert_held();
      ++metrics_.refused_[static_cast<std::size_t>(code)];
    }
    void late_report() {
      metrics_.mutex_.assert_held();
      ++metrics_.late_reports_;
    }

   private:
    void find(std::string_view queue);

    BrokerMetrics& metrics_;
    Lock<Mutex> lock_;
    // What was looked up last, since the next look-up is mostly the same.
    std::string_view last_name_ = {};
    Entry* last_ = nullptr;
    std::string_view last_type_ = {};
    Row last_row_ = {};
  };

  QueueStats of(std::string_view queue, TimePoint now);
  RateWindow window(std::string_view queue);
  // Everything except what happened in the current minute.
  void forget(std::string_view queue);

  // By queue and type.
  std::vector<TypeMetrics> types();
  std::vector<PriorityMetrics> priorities();
  // Refused puts, by error code.
  std::vector<std::pair<ErrorCode, std::uint64_t>> refused();
  std::uint64_t late_reports();

  // Minutes that are over, for the caller to keep: each is given out once. `all`: including the
  // minute that is not over.
  std::vector<std::shared_ptr<const Minute>> finished(TimePoint now, bool all = false);
  // Adds up the minutes that finished() has not given out and the current one: minute by minute,
  // all rows of a queue and type that are wanted. Writers may go on meanwhile.
  using Wanted =
      std::function<bool(TimePoint minute, std::string_view queue, std::string_view type)>;
  std::vector<std::pair<TimePoint, RowSum>> sum_minutes(TimePoint now, const Wanted& wanted);
  // Every row of them, under the lock: `visit` must be quick.
  using Visit = std::function<void(TimePoint minute, const MinuteRow& row)>;
  void each_row(TimePoint now, const Visit& visit);

 private:
  using Entries = std::map<std::string, Entry, std::less<>>;

  // A type, and the name it is counted under.
  struct Place {
    TypeTally* tally = nullptr;
    std::string_view queue = {};
    std::string_view type = {};
  };

  // Begins another minute if it is time.
  void turn(TimePoint now) REQUIRES(mutex_);
  void begin_minute(TimePoint at) REQUIRES(mutex_);
  // `name` is set to a copy that stays valid.
  Entry* entry(std::string_view queue, std::string_view* name) REQUIRES(mutex_);
  Place place_of(Entry* entry, std::string_view queue, std::string_view type) REQUIRES(mutex_);
  MinuteRow* row_of(const Place& place) REQUIRES(mutex_);

  const TimePoint started_;
  const BrokerMetricsOptions options_;
  Mutex mutex_{LockRank::metrics};
  Entries entries_ GUARDED_BY(mutex_);
  Tally others_ GUARDED_BY(mutex_){started_};
  TypeTally other_types_ GUARDED_BY(mutex_);
  std::size_t types_ GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::array<PriorityTally, priority_class_count>, std::less<>> priorities_
      GUARDED_BY(mutex_);
  std::array<std::uint64_t, error_codes> refused_ GUARDED_BY(mutex_) = {};
  std::uint64_t late_reports_ GUARDED_BY(mutex_) = 0;

  // A reader that adds up minutes shares those it has not read yet.
  std::shared_ptr<Minute> minute_ GUARDED_BY(mutex_);  // the current one
  // Tells a tally whether its row belongs to the current minute.
  std::uint64_t minute_number_ GUARDED_BY(mutex_) = 1;
  std::vector<std::shared_ptr<Minute>> finished_ GUARDED_BY(mutex_);
};

}  // namespace millrace
