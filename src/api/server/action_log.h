// Who did what: the changes made by people, and by programs with the scope admin.
//
// The store keeps one memo per hour, for 30 days. The size of an hour is bounded: an act that
// repeats an earlier one is only counted. Beyond 200 different acts, a new act is counted with one
// of the same operation; if there is none, the oldest act is dropped. Only one write is under way
// at a time, however many acts come in, and no request waits for it. A crash may lose the acts of
// the last moment.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/local_broker.h"
#include "core/log.h"
#include "core/mutex.h"

namespace millrace::api {

struct Action {
  TimePoint at{};
  std::optional<TimePoint> last_at = std::nullopt;  // when the act was last repeated
  std::uint32_t count = 1;
  std::string operation = {};   // as the description of the API names it: pauseQueue
  std::string subject = {};     // what the path names: a queue, a task, a schedule
  std::string request = {};     // the body, cut short; empty for puts
  std::string key = {};         // id of the API key; empty: the server needs none
  std::string name = {};        // of the key, for people
  bool session = false;         // by a person, in a browser
  std::string request_id = {};  // of the first request
};

// Joins an act with an equal one, or adds it; newest last. Beyond `most` different acts, joins it
// with one of the same operation, which then keeps only what both have in common; if there is none,
// drops the oldest act.
void add_action(std::vector<Action>& actions, Action action, std::size_t most);

struct ActionPage {
  std::vector<Action> actions = {};  // newest first
  std::string next = {};             // the cursor of the next page; empty: there is none
};

// Safe to use from several threads. It must outlive the answers of every broker it is given.
class ActionLog {
 public:
  explicit ActionLog(Log log) : log_(std::move(log)) {}
  ActionLog(const ActionLog&) = delete;
  ActionLog& operator=(const ActionLog&) = delete;

  // Stores an act through the broker, after the acts that are being written; returns at once.
  void note(LocalBroker& broker, Action action);

  // A page of acts, newest first. `cursor` is the `next` of the page before; empty: begins with the
  // newest act. `invalid`: it is not a cursor.
  static void list(LocalBroker& broker, std::string_view cursor, std::size_t limit,
                   Completion<ActionPage> done);

  static constexpr std::size_t most_per_hour = 200;
  static constexpr std::size_t most_bytes = 512;  // of a request

 private:
  void write(LocalBroker& broker);
  void read_then_write(LocalBroker& broker, std::int64_t hour, std::vector<Action> fresh,
                       int tries);

  const Log log_;
  Mutex mutex_;
  std::vector<Action> waiting_ GUARDED_BY(mutex_);
  bool writing_ GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::api
