// Tasks of many groups, with limits and turns, beside the same tasks without rules; and one group
// that fills the queue in front of a thousand others. On one core, over the state machine in
// memory.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load.h"
#include "bench/measure.h"
#include "bench/require.h"
#include "core/uuid.h"
#include "store/embedded/state_machine.h"

namespace millrace {
namespace {

constexpr std::size_t batch = 1000;

class Lives {
 public:
  Lives(std::size_t waiting, std::size_t groups, std::optional<GroupRules> rules)
      : load_(machine_, batch, groups, rules) {
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
  double index_bytes() { return static_cast<double>(machine_.state().index_memory()); }

 private:
  embedded::StateMachine machine_;
  bench::Load load_;
};

void compare(std::string_view order, const GroupRules& rules, std::size_t groups,
             std::size_t waiting, int rounds, std::size_t batches) {
  Lives ours(waiting, groups, rules);
  Lives plain(waiting, 0, std::nullopt);
  const double more = (ours.index_bytes() - plain.index_bytes()) / static_cast<double>(waiting);
  const auto ratio = bench::by_turns(
      rounds, [&] { return ours.run(batches); }, [&] { return plain.run(batches); });
  bench::Line("groups/embedded")
      .add("store", "memory")
      .add("order", order)
      .add("groups", std::uint64_t{groups})
      .add("waiting", std::uint64_t{waiting})
      .add("batch", std::uint64_t{batch})
      .add("ours", ratio.ours)
      .add("plain", ratio.yardstick)
      .add("ratio", ratio.ratio)
      .add("ratio_min", ratio.least)
      .add("ratio_max", ratio.greatest)
      .add("more_bytes_per_task", more)
      .add("longest_call_ms", ours.longest_call_ms())
      .print();
}

// One group with many tasks in front, a thousand others with one each: how many takes until each of
// these has had its turn.
void skew(std::size_t front, GroupOrder order, std::string_view name) {
  embedded::StateMachine store;
  UuidSource ids{1};
  TimePoint now{std::chrono::hours(24 * 365 * 56)};
  QueueSettings queue{.name = "q", .id = Uuid{{1}}};
  queue.keep_completed.last = 0;
  queue.groups = GroupRules{.order = order, .max_concurrent = 100};
  bench::require(store.put_queue(queue, PutQueue::create, now).has_value(), "put_queue");
  constexpr std::size_t others = 1000;
  std::vector<NewTask> tasks(batch);
  for (std::size_t put = 0; put < front + others; put += batch) {
    now += Duration(1);
    for (std::size_t i = 0; i < batch; ++i) {
      tasks[i] = {.id = {ids.next(now)}, .queue = "q"};
      tasks[i].group = put < front ? std::string("whale") : "g" + std::to_string(i);
    }
    bench::require(store.put(tasks, now).has_value(), "put");
  }
  std::set<std::string> served;
  std::uint64_t takes = 0;
  double longest = 0;
  std::vector<Settlement> settlements;
  while (served.size() < others && takes < 100) {
    now += Duration(1);
    const TakeRequest take{.worker = "w", .queues = {{"q", batch}}};
    const double before = bench::cpu_seconds();
    auto result = store.work(settlements, {}, {&take, 1}, now);
    longest = std::max(longest, bench::cpu_seconds() - before);
    bench::require(result && result->taken.front().has_value(), "take");
    ++takes;
    settlements.clear();
    for (const Lease& lease : *result->taken.front()) {
      if (lease.group != "whale") served.insert(lease.group);
      settlements.push_back({.id = lease.id, .expect = Held{lease.token}});
    }
  }
  bench::Line("groups/skew")
      .add("store", "memory")
      .add("order", name)
      .add("front", std::uint64_t{front})
      .add("others", std::uint64_t{others})
      .add("takes_until_all_served", takes)
      .add("longest_take_ms", longest * 1e3)
      .print();
}

void all(bool smoke) {
  const int rounds = smoke ? 1 : 9;
  const std::size_t few = smoke ? 100 : 1;
  const GroupRules fair{.order = GroupOrder::fair, .max_concurrent = 2};
  const GroupRules arrival{.max_concurrent = 2};
  const GroupRules serial{.order = GroupOrder::serial};
  compare("fair", fair, 100'000 / few, 1'000'000 / few, rounds, 1000 / few);
  compare("arrival", arrival, 100'000 / few, 1'000'000 / few, rounds, 1000 / few);
  compare("serial", serial, 100'000 / few, 1'000'000 / few, rounds, 1000 / few);
  compare("fair", fair, 1'000'000 / few, 1'000'000 / few, rounds, 1000 / few);
  skew(1'000'000 / few, GroupOrder::fair, "fair");
  skew(1'000'000 / few, GroupOrder::arrival, "arrival");
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  millrace::all(argc > 1 && std::string_view(argv[1]) == "--smoke");
  return 0;
}
