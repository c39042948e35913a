// Drives Rounds in a test, over a store that records its calls: submit, round, flush.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/rounds.h"
#include "tests/support/driver.h"
#include "tests/support/matchers.h"
#include "tests/support/recording_store.h"

namespace millrace::test {

// What a completion was called with; it must not be called twice.
template <class T>
class Heard {
 public:
  Ticket ticket = {};

  bool answered() const { return !answers_->empty(); }
  const Result<T>& get(Where where = Where::current()) const {
    if (answers_->size() != 1) {
      give_up("called " + std::to_string(answers_->size()) + " times", where);
    }
    return answers_->front();
  }
  Completion<T> completion() const {
    return [answers = answers_](Result<T> result) { answers->push_back(std::move(result)); };
  }

 private:
  std::shared_ptr<std::vector<Result<T>>> answers_ = std::make_shared<std::vector<Result<T>>>();
};

using HeardPut = Heard<std::vector<Result<Put>>>;
using HeardWork = Heard<WorkResult>;

class RoundsDriver {
 public:
  explicit RoundsDriver(const RoundsOptions& options = {}, const Traits* traits = nullptr) {
    if (traits != nullptr) store.pretended = *traits;
    rounds = std::make_unique<Rounds>(store, options);
    for (const char* name : {"q", "r"}) direct.make_queue(name);
  }

  RecordingStore store;
  StoreDriver direct{store};  // past the rounds, to prepare and to inspect
  std::unique_ptr<Rounds> rounds;
  TimePoint now = t0;

  Ticket submit(Request request) {
    Answers refused;
    const Ticket ticket = rounds->submit(std::move(request), now, refused);
    refused.deliver();
    return ticket;
  }

  HeardPut put(std::uint64_t caller, std::vector<NewTask> tasks, TimePoint deadline = never) {
    HeardPut heard;
    heard.ticket = submit(put_request({caller}, std::move(tasks), deadline, heard.completion()));
    return heard;
  }
  HeardPut put(std::uint64_t caller, TimePoint deadline = never) {
    return put(caller, {task("q")}, deadline);
  }
  HeardWork work(std::uint64_t caller, Work work, TimePoint deadline = never) {
    HeardWork heard;
    heard.ticket = submit(work_request({caller}, std::move(work), deadline, heard.completion()));
    return heard;
  }
  HeardWork settle(std::uint64_t caller, std::vector<Settlement> settlements) {
    return work(caller, {.settlements = std::move(settlements)});
  }
  // Waits for work for so long.
  HeardWork take(std::uint64_t caller, Duration wait = {}, std::vector<Want> queues = {{"q", 1}}) {
    return work(caller, {.takes = {{.worker = "w", .queues = std::move(queues)}},
                         .wait_until = now + wait});
  }
  Heard<Task> find(std::uint64_t caller, TaskId id) {
    Heard<Task> heard;
    heard.ticket = submit(call_request<Task>(
        {caller}, [id](Store& to, TimePoint) { return find_task(to, id); }, never,
        heard.completion()));
    return heard;
  }

  void apply() { rounds->apply(now).deliver(); }
  void flush() {
    const auto applied = rounds->applied();
    rounds->flushed(applied, store.flush()).deliver();
  }
  // One round from beginning to end.
  void round() {
    apply();
    flush();
  }
  void leave(std::uint64_t caller) { rounds->leave({caller}).deliver(); }
  void cancel(Ticket ticket) { rounds->cancel(ticket).deliver(); }

  // The calls since the last time the test asked.
  std::vector<std::string> calls() { return std::exchange(store.calls, {}); }
};

inline const std::vector<Lease>& leases_of(const HeardWork& heard, Where where = Where::current()) {
  const auto& result = heard.get(where);
  if (!result || result->taken.size() != 1 || !result->taken.front()) {
    give_up("no leases: " + (result ? "another answer" : result.error().message), where);
  }
  return *result->taken.front();
}

}  // namespace millrace::test
