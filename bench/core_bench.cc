// What a task's life costs in the state machine: put, take and settle in batches of 1,000 on one
// core, beside the bare map (insert, find and erase of a 16-byte key with a 128-byte value), with
// so many tasks waiting. Both sides forget finished tasks.
//
// Also: memory a waiting task (payload not counted) and the longest single call, growth included.
#include <fmt/format.h>

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.h"
#include "core/uuid.h"
#include "store/embedded/state_machine.h"

namespace millrace {
namespace {

constexpr std::size_t batch = 1000;
constexpr std::size_t payload_size = 260;
constexpr TimePoint start{std::chrono::hours(24 * 365 * 56)};

// A queue under load: so many tasks always wait.
class Ours {
 public:
  explicit Ours(std::size_t waiting) {
    QueueSettings queue{.name = "emails", .id = Uuid{{1}}};
    queue.keep_completed.last = 0;
    require(machine_.put_queue(queue, PutQueue::create, now_).has_value());
    tasks_.resize(batch);
    for (NewTask& task : tasks_) {
      task.queue = "emails";
      task.type = "send-email";
      task.payload = std::string(payload_size, 'x');
    }
    for (std::size_t filled = 0; filled < waiting; filled += batch) put();
  }

  // Tasks a second over so many lives.
  double run(std::size_t batches) {
    const double before = bench::wall_seconds();
    for (std::size_t i = 0; i < batches; ++i) {
      put();
      take_and_settle();
    }
    return static_cast<double>(batches * batch) / (bench::wall_seconds() - before);
  }

  double longest_call_ms() const { return longest_ * 1e3; }

  double bytes_per_task(std::size_t waiting) {
    const auto& state = machine_.state();
    const double bytes = static_cast<double>(state.index_memory() + state.blobs.used()) -
                         static_cast<double>(waiting * payload_size);
    return bytes / static_cast<double>(waiting);
  }

 private:
  static void require(bool good) {
    if (good) return;
    std::fputs("core_bench: an operation failed that must not\n", stderr);
    std::abort();
  }

  // Runs one call of the store and keeps the longest time, in processor time: the machine may take
  // the core away from us, but that is not a stall of ours.
  auto timed(const auto& call) {
    const double before = bench::cpu_seconds();
    auto result = call();
    longest_ = std::max(longest_, bench::cpu_seconds() - before);
    require(result.has_value());
    return result;
  }

  void put() {
    now_ += Duration(1);
    for (NewTask& task : tasks_) task.id = {ids_.next(now_)};
    const auto puts = timed([&] { return machine_.put(tasks_, now_); });
    require(puts->back().has_value());
  }

  void take_and_settle() {
    now_ += Duration(1);
    const TakeRequest request{.worker = "worker-1", .queues = {{"emails", batch}}};
    const auto work = timed([&] { return machine_.work({}, {}, {&request, 1}, now_); });
    const std::vector<Lease>& leases = *work->taken.front();
    require(leases.size() == batch);
    std::vector<Settlement> settlements(batch);
    for (std::size_t i = 0; i < batch; ++i) {
      settlements[i].id = leases[i].id;
      settlements[i].expect = Held{leases[i].token};
    }
    const auto settled = timed([&] { return machine_.work(settlements, {}, {}, now_); });
    require(settled->settled.back().has_value());
  }

  embedded::StateMachine machine_;
  std::vector<NewTask> tasks_;
  UuidSource ids_{1};
  TimePoint now_ = start;
  double longest_ = 0;
};

// The yardstick of the design.
class BareMap {
 public:
  explicit BareMap(std::size_t entries) {
    for (std::size_t filled = 0; filled < entries; filled += batch) insert();
  }

  double run(std::size_t batches) {
    const double before = bench::wall_seconds();
    for (std::size_t i = 0; i < batches; ++i) {
      insert();
      for (std::size_t k = 0; k < batch; ++k) seen_ += map_.find(keys_[k])->second[7];
      for (std::size_t k = 0; k < batch; ++k) map_.erase(keys_[k]);
      keys_.erase(keys_.begin(), keys_.begin() + batch);
    }
    return static_cast<double>(batches * batch) / (bench::wall_seconds() - before);
  }

  std::uint64_t seen() const { return seen_; }

 private:
  using Value = std::array<std::uint8_t, 128>;

  void insert() {
    now_ += Duration(1);
    for (std::size_t k = 0; k < batch; ++k) {
      keys_.push_back(ids_.next(now_));
      map_.emplace(keys_.back(), Value{1, 2, 3, 4, 5, 6, 7, 8});
    }
  }

  boost::unordered_flat_map<Uuid, Value, UuidHash> map_;
  std::deque<Uuid> keys_;
  UuidSource ids_{2};
  TimePoint now_ = start;
  std::uint64_t seen_ = 0;
};

void lifecycle(std::size_t waiting, int rounds, std::size_t batches) {
  Ours ours(waiting);
  const double bytes = ours.bytes_per_task(waiting);
  BareMap map(waiting);
  const auto ratio =
      bench::by_turns(rounds, [&] { return ours.run(batches); }, [&] { return map.run(batches); });
  bench::Line("state/lifecycle")
      .add("durability", "none")
      .add("batch", std::uint64_t{batch})
      .add("payload", std::uint64_t{payload_size})
      .add("waiting", std::uint64_t{waiting})
      .add("ours", ratio.ours)
      .add("bare_map", ratio.yardstick)
      .add("ratio", ratio.ratio)
      .add("ratio_min", ratio.least)
      .add("ratio_max", ratio.greatest)
      .add("bytes_per_task", bytes)
      .add("longest_call_ms", ours.longest_call_ms())
      .add("checksum", map.seen())
      .print();
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  if (smoke) {
    millrace::lifecycle(10'000, 1, 10);
    return 0;
  }
  millrace::lifecycle(10'000, 9, 1000);
  millrace::lifecycle(1'000'000, 9, 1000);
  millrace::lifecycle(10'000'000, 9, 1000);
  return 0;
}
