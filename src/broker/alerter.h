// Looks at the queues and the disk every few seconds, and alerts the operator to what is not as it
// should be: too many tasks waiting, tasks that no worker takes, workers that vanish, a disk that
// fills up. Alerts about single tasks come with their settlements (delivery_tasks.h).
//
// Deciding is separate from looking: Conditions is a function of what was seen, when, and before.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/alert.h"
#include "broker/books.h"
#include "broker/current_alerts.h"
#include "broker/recorder.h"
#include "broker/service.h"
#include "core/mutex.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

// The limit from which on there is an alert; 0 (for `lost`: nullopt) switches it off.
struct AlertLimits {
  // For queues without a max_depth; for others the limit is 9/10 of that.
  std::uint64_t depth = 1000;
  Duration no_take_after = std::chrono::minutes(5);
  std::optional<std::uint64_t> lost = 0;  // more than this between two looks
  std::uint64_t disk_free = std::uint64_t{1} << 30U;
  double disk_share = 0.05;  // of the disk; off with disk_free
};

struct AlerterOptions {
  AlertLimits limits = {};
  Duration every = std::chrono::seconds(10);
  // How much space there is where the store writes; empty: unknown.
  std::function<std::optional<DiskSpace>()> disk = {};
};

// ---- Deciding ----------------------------------------------------------------------------------

struct QueueLook {
  std::string name = {};
  std::uint64_t waiting = 0;  // ready, delayed and retrying
  std::uint64_t ready = 0;
  std::uint64_t running = 0;
  std::uint64_t taken = 0;  // ever, as counted here
  std::uint64_t lost = 0;   // ever, as counted here
  std::uint64_t dead = 0;   // there now, failed for good
  std::optional<std::uint64_t> max_depth = std::nullopt;
  bool takes_stopped = false;  // paused or switched off: no worker is expected to take
  Duration rate_per{};         // of its process_rate: takes may well pause for this long
  std::optional<TimePoint> last_asked = std::nullopt;
};

struct Look {
  TimePoint at{};
  std::vector<QueueLook> queues = {};
  std::optional<DiskSpace> disk = std::nullopt;
};

// An alert, and how it is sent.
struct Alert {
  AlertFacts facts = {};
  std::string queue = {};
  std::string type = {};
  std::string message = {};
  std::uint64_t count = 0;
};

// Which conditions hold, and for which of them an alert was sent. A condition is reported when it
// begins, again after the window while it lasts, then after two windows, four, … (4 h at most), and
// when it is over. A condition that comes back within a window is held back and counted. A look
// reports at most `most` alerts: the rest waits for the next look.
class Conditions {
 public:
  Conditions(const AlertLimits& limits, Duration window, std::size_t most = 100)
      : limits_(limits), window_(window), most_(most) {}

  std::vector<Alert> look(const Look& look);
  // The conditions that hold, reported or not.
  std::vector<CurrentAlert> holding() const;

 private:
  struct Seen {  // of a queue, at the last look
    std::uint64_t taken = 0;
    std::uint64_t lost = 0;
    TimePoint moved{};  // when it last had nothing ready, or a task was taken
  };
  struct Condition {
    bool holds = false;
    bool reported = false;  // reported, and not reported as over yet
    bool held = false;      // it began when one like it had just been reported
    TimePoint since{};
    TimePoint reported_at{};
    Duration rest{};  // until it is reported again; zero: it was never reported
    std::uint64_t held_back = 0;
    // As it was seen last.
    LogLevel level = LogLevel::warning;
    std::string message = {};
    std::uint64_t count = 0;
  };
  using Key = std::pair<AlertKind, std::string>;

  void look_at(const QueueLook& queue, TimePoint now);
  void look_at(const DiskSpace& disk, TimePoint now);
  bool holds(AlertKind kind, const std::string& queue) const;
  // `alert` is about the condition, or about its end.
  void set(AlertKind kind, const std::string& queue, bool holds, Alert alert, TimePoint now);
  void count_lost(const std::string& queue, std::uint64_t lost, TimePoint now);
  // False: there were enough in this look.
  bool report(const Condition& condition, Alert alert);
  void forget_old(const Look& look);

  const AlertLimits limits_;
  const Duration window_;
  const std::size_t most_;
  std::map<std::string, Seen> seen_;
  std::map<Key, Condition> conditions_;
  std::vector<Alert> alerts_;  // of the look under way
};

// ---- The service -------------------------------------------------------------------------------

class Alerter final : public Service {
 public:
  Alerter(Books& books, AlerterOptions options)
      : books_(books),
        options_(std::move(options)),
        conditions_(options_.limits, books.options.alert_window) {}

  Result<TimePoint> run_once(Store& store, TimePoint now) override;
  void stored() override;
  void unsure(const Error& why) override;

  // Sends an alert with the next run. Services only.
  void clock_set_back(std::string message, TimePoint now);

  // As of the last look. Any thread.
  CurrentAlerts current_alerts() const;

 private:
  Result<Look> look(Store& store, TimePoint now);
  void keep_current(const Look& look);
  void report(Alert alert, TimePoint now);
  void send_later(Alert alert, TimePoint now);
  std::optional<UniqueKey> key_of(const Alert& alert) const;
  Result<void> send(Store& store, TimePoint now);

  Books& books_;
  PendingRecords pending_records_;
  const AlerterOptions options_;
  Conditions conditions_;
  std::deque<NewTask> unsent_;  // there was no room for them in the store
  std::deque<NewTask> sent_;    // in the last run; perhaps not stored yet

  Growing growing_;
  mutable Mutex mutex_{LockRank::leaf};
  CurrentAlerts current_ GUARDED_BY(mutex_);
};

}  // namespace millrace
