// Reads, beside the rounds: on threads of their own, over the Reader half of the store.
//
// A read is answered when everything it may have seen is durable. It is answered on one of these
// threads, never on the one that flushes, so that using the answer takes no time from other
// callers. Reads are served in order of arrival, but quick ones do not wait for walks that wait,
// too; their number is bounded; each has a deadline.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "broker/call_on.h"
#include "broker/caller.h"
#include "broker/coalescer.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

// What a read costs: heartbeats and cancellations must not wait for lists.
enum class ReadCost : std::uint8_t {
  quick,  // looks up a few things by their names
  walk,   // may take as long as a page of a list does
};

struct ReadsOptions {
  std::size_t threads = 0;       // 0: as many as the store can serve at once
  std::size_t waiting = 10'000;  // more are `limited`
  // Read and not answered yet, because a flush is under way: bounds what a slow disk keeps in
  // memory.
  std::size_t held = 16;
  Duration retry_after{100};
};

struct ReadsStats {
  std::uint64_t reads = 0;    // that were made
  std::uint64_t refused = 0;  // because too many waited
  std::uint64_t expired = 0;  // whose deadline passed before their turn
  std::size_t waiting = 0;
};

// Safe to use from several threads.
class Reads {
 public:
  // All must outlive this.
  Reads(Clock& clock, Reader& reader, Coalescer& coalescer, const ReadsOptions& options = {});
  Reads(const Reads&) = delete;
  Reads& operator=(const Reads&) = delete;
  ~Reads() { stop(); }

  // `deadline`: if the read has not begun by then, it is `unavailable`. `look` may take its time
  // but must be bounded, and must not throw.
  template <class T>
  void read(CallerId caller, ReaderCall<Result<T>> look, TimePoint deadline, Completion<T> done,
            ReadCost cost = ReadCost::quick);

  // The caller has left: its reads are dropped unanswered.
  void leave(CallerId caller);
  // Refuses new and waiting reads. What was read is answered as usual.
  void begin_stop();
  // The same, and ends the threads once everything is answered: the Coalescer must go on until
  // then, or have stopped. May be called again. Not from a completion.
  void stop();

  ReadsStats stats();

 private:
  struct Job {
    CallerId caller = {};
    TimePoint deadline = never;
    ReadCost cost = ReadCost::quick;
    // Reads and keeps what it found; true if the store could not be asked.
    ReaderCall<bool> look;
    // Answers with that, or with this error instead.
    std::move_only_function<void(const std::optional<Error>& instead)> done;
    std::optional<Error> instead = std::nullopt;
  };
  using Jobs = std::list<Job>;

  // The jobs of a caller, from their beginning to their answer.
  struct UnderWay {
    std::size_t jobs = 0;
    bool gone = false;  // the caller has left
  };

  void submit(Job job);
  void run();
  // Checks all deadlines now and then, since those behind the first may pass earlier.
  void expire(TimePoint now) REQUIRES(mutex_);
  void expire(Jobs& waiting, Jobs::iterator job) REQUIRES(mutex_);
  Jobs& waiting_for(ReadCost cost) REQUIRES(mutex_) {
    return waiting_[static_cast<std::size_t>(cost)];
  }
  std::size_t waiting() const REQUIRES(mutex_) { return waiting_[0].size() + waiting_[1].size(); }
  // The list that has its turn: quick reads, but a walk after so many of them. REQUIRES: one waits.
  Jobs& next_waiting() REQUIRES(mutex_);
  // The next thing to do; empty: there will be none.
  Jobs next(bool& looked_at) REQUIRES(mutex_);
  void look(Jobs job);
  void stored(Jobs job, const std::optional<Error>& failure);
  // Whether the caller is still there.
  bool ends(const Job& job) REQUIRES(mutex_);

  Clock& clock_;
  Reader& reader_;
  Coalescer& coalescer_;
  const ReadsOptions options_;

  Mutex mutex_{LockRank::leaf};
  Condition work_;
  std::array<Jobs, 2> waiting_ GUARDED_BY(mutex_);      // to be read, by cost
  std::uint32_t quick_in_turn_ GUARDED_BY(mutex_) = 0;  // quick reads since the last walk
  Jobs answers_ GUARDED_BY(mutex_);                     // stored, or refused: to be answered
  std::unordered_map<std::uint64_t, UnderWay> under_way_ GUARDED_BY(mutex_);  // by caller
  std::size_t held_ GUARDED_BY(mutex_) = 0;     // read, but what they saw is not durable yet
  TimePoint next_expiry_ GUARDED_BY(mutex_){};  // when deadlines are checked again
  bool stopping_ GUARDED_BY(mutex_) = false;
  ReadsStats stats_ GUARDED_BY(mutex_);

  Mutex join_mutex_;
  std::vector<std::thread> threads_ GUARDED_BY(join_mutex_);
};

template <class T>
void Reads::read(CallerId caller, ReaderCall<Result<T>> look, TimePoint deadline,
                 Completion<T> done, ReadCost cost) {
  const auto result = std::make_shared<std::optional<Result<T>>>();
  Job job{.caller = caller, .deadline = deadline, .cost = cost};
  job.look = [result, look = std::move(look)](Reader& reader, TimePoint now) mutable {
    *result = look(reader, now);
    return !**result && (*result)->error().code == ErrorCode::unavailable;
  };
  job.done = [result, done = std::move(done)](const std::optional<Error>& instead) mutable {
    done(instead ? Result<T>(std::unexpected(*instead)) : std::move(**result));
  };
  submit(std::move(job));
}

}  // namespace millrace
