// Looks at the queues and the disk every few seconds, and tells whoever runs the server what is
// not as it should be: more tasks waiting than should, tasks that nobody takes, workers that
// vanish, a disk that fills up. Alerts about single tasks come with their settlements (notices.h).
//
// Deciding is apart from looking: Conditions is a function of what was seen, when, and before.
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
#include "broker/service.h"
#include "broker/standing.h"
#include "broker/telling.h"
#include "core/mutex.h"
#include "store/store.h"

namespace millrace {

// From where on something is an alert; 0 (of `lost`: nullopt) switches one off.
struct WatchLimits {
  std::uint64_t depth = 1000;  // of queues without a max_depth; of others it is 9/10 of that
  Duration no_take_after = std::chrono::minutes(5);
  std::optional<std::uint64_t> lost = 0;  // more than these between two looks
  std::uint64_t disk_free = std::uint64_t{1} << 30U;
  double disk_share = 0.05;  // of the disk; off with disk_free
};

struct WatchOptions {
  WatchLimits limits = {};
  Duration every = std::chrono::seconds(10);
  // How much room there is where the store writes; empty: nobody knows.
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
  bool takes_stopped = false;  // paused or switched off: nobody is expected to take
  Duration rate_per{};         // of its process_rate: so long it may well rest
  std::optional<TimePoint> last_asked = std::nullopt;
};

struct Look {
  TimePoint at{};
  std::vector<QueueLook> queues = {};
  std::optional<DiskSpace> disk = std::nullopt;
};

// What to tell, and how.
struct Alert {
  AlertFacts facts = {};
  std::string queue = {};
  std::string type = {};
  std::string message = {};
  std::uint64_t count = 0;
};

// Which conditions hold, and which of them were told. A condition is told when it begins, once more
// after the window while it lasts, then after two windows, four, … (4 h at most), and when it is
// over. One that comes back within a window is held back and counted. At most `most` alerts a look:
// the rest waits for the next one.
class Conditions {
 public:
  Conditions(const WatchLimits& limits, Duration window, std::size_t most = 100)
      : limits_(limits), window_(window), most_(most) {}

  std::vector<Alert> look(const Look& look);
  // Those that hold, told or not.
  std::vector<StandingAlert> holding() const;

 private:
  struct Seen {  // of a queue, at the last look
    std::uint64_t taken = 0;
    std::uint64_t lost = 0;
    TimePoint moved{};  // when it last had nothing ready, or a task was taken
  };
  struct Condition {
    bool holds = false;
    bool told = false;  // and not taken back yet
    bool held = false;  // it began when one like it had just been told
    TimePoint since{};
    TimePoint told_at{};
    Duration rest{};  // until it is told again; zero: it was never told
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
  bool tell(const Condition& condition, Alert alert);
  void forget_old(const Look& look);

  const WatchLimits limits_;
  const Duration window_;
  const std::size_t most_;
  std::map<std::string, Seen> seen_;
  std::map<Key, Condition> conditions_;
  std::vector<Alert> alerts_;  // of the look under way
};

// ---- The service -------------------------------------------------------------------------------

class Watch final : public Service {
 public:
  Watch(Books& books, WatchOptions options)
      : books_(books),
        options_(std::move(options)),
        conditions_(options_.limits, books.options.alert_window) {}

  Result<TimePoint> run_once(Store& store, TimePoint now) override;
  void stored() override;
  void unsure(const Error& why) override;

  // As of the last look. Any thread.
  Standing standing() const;

 private:
  Result<Look> look(Store& store, TimePoint now);
  void stand(const Look& look);
  void tell(Alert alert, TimePoint now);
  std::optional<UniqueKey> key_of(const Alert& alert) const;
  Result<void> send(Store& store, TimePoint now);

  Books& books_;
  Untold untold_;
  const WatchOptions options_;
  Conditions conditions_;
  std::deque<NewTask> unsent_;  // there was no room for them
  std::deque<NewTask> sent_;    // in the last run, and perhaps not stored

  Growing growing_;
  mutable Mutex mutex_;
  Standing standing_ GUARDED_BY(mutex_);
};

}  // namespace millrace
