// What a task's life costs in the state machine: put, take and settle in batches of 1,000 on one
// core, beside the bare map (insert, find and erase of a 16-byte key with a 128-byte value), with
// so many tasks waiting. Both sides forget finished tasks.
//
// Also: memory per waiting task (payload not counted) and the longest single call, growth included.
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load.h"
#include "bench/measure.h"
#include "core/uuid.h"
#include "store/embedded/state_machine.h"

namespace millrace {
namespace {

constexpr std::size_t batch = 1000;
constexpr TimePoint start{std::chrono::hours(24 * 365 * 56)};

class Ours {
 public:
  explicit Ours(std::size_t waiting) {
    for (std::size_t filled = 0; filled < waiting; filled += batch) load_.put();
  }

  // Tasks per second over so many lives.
  double run(std::size_t batches) {
    const double before = bench::wall_seconds();
    for (std::size_t i = 0; i < batches; ++i) {
      load_.put();
      load_.work();
    }
    return static_cast<double>(batches * batch) / (bench::wall_seconds() - before);
  }

  double longest_call_ms() const { return load_.longest_call_ms(); }

  double bytes_per_task(std::size_t waiting) {
    const auto& state = machine_.state();
    const double bytes = static_cast<double>(state.index_memory() + state.blobs.used()) -
                         static_cast<double>(waiting * bench::Load::payload_size);
    return bytes / static_cast<double>(waiting);
  }

 private:
  embedded::StateMachine machine_;
  bench::Load load_{machine_, batch};
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
      .add("payload", std::uint64_t{bench::Load::payload_size})
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
