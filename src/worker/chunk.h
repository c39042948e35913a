// The tasks that a processor is given at once: tasks of one queue that it runs call by call,
// without taking the dispatcher's lock in between. A chunk is one task or one batch, unless the
// tasks are so short that the lock would cost more than the work.
//
// The dispatcher can reclaim what is not begun at any time, and can abandon a call that does not
// return. Both are one compare-and-swap, so neither side waits for the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "worker/run.h"

namespace millrace::worker {

struct Chunk {
  // `ends`: where each call ends, unless each task is a call of its own.
  Chunk(std::size_t of_queue, std::vector<RunPtr> what, std::vector<std::size_t> ends, Moment now)
      : queue_index(of_queue),
        runs(std::move(what)),
        begun(now),
        ends_(std::move(ends)),
        open_(pack(0, runs.size())) {}
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  const std::size_t queue_index;
  std::vector<RunPtr> runs;  // null: reclaimed
  const Moment begun;
  bool looked_at = false;  // under the dispatcher's lock

  // ---- Written by the processor, until it returns the chunk ----
  Moment busy_time{};
  std::uint64_t slow = 0;  // number of slow calls

  // ---- For the processor ----
  // Begins the next call and returns its runs. Empty: nothing is left.
  std::span<const RunPtr> next_call() {
    auto now = open_.load();
    const auto [first, end] = unpack(now);
    if (first == end) return {};
    const std::size_t to = call_++ < ends_.size() ? ends_[call_ - 1] : first + 1;
    if (!open_.compare_exchange_strong(now, pack(to, end))) return {};  // all were reclaimed
    call_range_.store(pack(first, to));
    state_.fetch_add(1);  // even: between calls, odd: in a call
    return {runs.data() + first, to - first};
  }
  // False: the call was abandoned, and the thread with it. It may touch nothing of the worker.
  bool returned() {
    auto now = state_.load();
    return (now & abandoned_bit) == 0 && state_.compare_exchange_strong(now, now + 1);
  }

  // ---- For the dispatcher ----
  // Takes back the runs that are not begun.
  std::vector<RunPtr> reclaim() {
    auto now = open_.load();
    auto [first, end] = unpack(now);
    while (first != end && !open_.compare_exchange_weak(now, pack(first, first))) {
      std::tie(first, end) = unpack(now);
    }
    std::vector<RunPtr> taken;
    for (std::size_t i = first; i < end; ++i) taken.push_back(std::move(runs[i]));
    return taken;
  }
  bool has_several_calls() const { return runs.size() > (ends_.empty() ? 1 : ends_.front()); }
  // The call that runs now.
  struct Call {
    std::uint64_t state = 0;
    std::size_t from = 0;
    std::size_t to = 0;
  };
  std::optional<Call> call() const {
    const auto state = state_.load();
    if ((state & 1) == 0 || (state & abandoned_bit) != 0) return std::nullopt;
    const auto [from, to] = unpack(call_range_.load());
    if (state_.load() != state) return std::nullopt;
    return Call{state, from, to};
  }
  bool abandon(const Call& call) {
    auto expected = call.state;
    return state_.compare_exchange_strong(expected, call.state | abandoned_bit);
  }
  bool abandoned() const { return (state_.load() & abandoned_bit) != 0; }

 private:
  static constexpr std::uint64_t abandoned_bit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t pack(std::size_t from, std::size_t to) {
    return (std::uint64_t{from} << 32) | to;
  }
  static constexpr std::pair<std::size_t, std::size_t> unpack(std::uint64_t both) {
    return {both >> 32, both & 0xffff'ffff};
  }

  const std::vector<std::size_t> ends_;
  std::size_t call_ = 0;             // the index of the next call
  std::atomic<std::uint64_t> open_;  // the first run that is not begun, and the end
  std::atomic<std::uint64_t> call_range_ = 0;
  std::atomic<std::uint64_t> state_ = 0;
};

using ChunkPtr = std::shared_ptr<Chunk>;

}  // namespace millrace::worker
