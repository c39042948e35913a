// Who did what: the changes that people, and programs with the scope admin, have made.
//
// Kept in the store, a memo an hour, for 30 days. What an hour holds is bounded: the same act again
// is counted; beyond 200 different ones an act is counted with one of the same operation, and where
// there is none the oldest is given up. One write is under way at a
// time, however much is done, and nobody waits for it; a crash may take what the last moment has
// brought.
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
  std::optional<TimePoint> last_at = std::nullopt;  // of the last one like it
  std::uint32_t count = 1;
  std::string operation = {};   // as the description of the API names it: pauseQueue
  std::string subject = {};     // what stands in the path: a queue, a task, a schedule
  std::string request = {};     // the body, cut; not of puts
  std::string key = {};         // id of the API key; empty: the server needs none
  std::string name = {};        // of the key, for people
  bool session = false;         // in a browser
  std::string request_id = {};  // of the first
};

// Joins an act with the same one, or adds it; newest last. Beyond `most` it is joined with one of
// the same operation, which then tells only what they have in common, or the oldest is given up.
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

  // Writes an act down through the broker, after those that are being written; returns at once.
  void note(LocalBroker& broker, Action action);

  // A page of acts, newest first. `cursor` is the `next` of the page before; empty: from the newest
  // on. `invalid`: it is none.
  static void list(LocalBroker& broker, std::string_view cursor, std::size_t limit,
                   Completion<ActionPage> done);

  static constexpr std::size_t most_an_hour = 200;
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
