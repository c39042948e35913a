// The load that stores are measured under: a queue in which so many tasks always wait, put at one
// end, taken and finished at the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.h"
#include "bench/require.h"
#include "core/uuid.h"
#include "store/store.h"

namespace millrace::bench {

class Load {
 public:
  static constexpr std::size_t payload_size = 260;

  // Finished tasks are forgotten. With groups, the tasks are of so many by turns. The store must
  // outlive this.
  Load(Store& store, std::size_t batch, std::size_t groups = 0,
       std::optional<GroupRules> rules = std::nullopt)
      : store_(store), batch_(batch), tasks_(batch) {
    QueueSettings queue{.name = "emails", .id = Uuid{{1}}};
    queue.keep_completed.last = 0;
    queue.groups = rules;
    for (std::size_t i = 0; i < groups; ++i) groups_.push_back("customer-" + std::to_string(i));
    require(store_.put_queue(queue, PutQueue::create, now_).has_value(), "put_queue");
    for (NewTask& task : tasks_) {
      task.queue = "emails";
      task.type = "send-email";
      task.payload = std::string(payload_size, 'x');
    }
  }

  void put() {
    now_ += Duration(1);
    for (NewTask& task : tasks_) {
      task.id = {ids_.next(now_)};
      if (!groups_.empty()) task.group = groups_[next_group_++ % groups_.size()];
    }
    const auto puts = timed([&] { return store_.put(tasks_, now_); });
    require(puts && puts->back().has_value(), "put");
  }

  // One call: finishes the batch that the last call took, and takes the next.
  void work() {
    now_ += Duration(1);
    const TakeRequest request{.worker = "worker-1",
                              .queues = {{"emails", static_cast<std::uint32_t>(batch_)}}};
    auto work = timed([&] { return store_.work(settlements_, {}, {&request, 1}, now_); });
    require(work && work->taken.front() && work->taken.front()->size() == batch_, "take");
    require(work->settled.empty() || work->settled.back().has_value(), "settle");
    leases_ = std::move(*work->taken.front());
    settlements_.resize(batch_);
    for (std::size_t i = 0; i < batch_; ++i) {
      settlements_[i].id = leases_[i].id;
      settlements_[i].expect = Held{leases_[i].token};
    }
  }

  void flush() { require(store_.flush().has_value(), "flush"); }

  std::size_t batch() const { return batch_; }

  // The longest single call, in processor time: if the machine takes the core away, that is no
  // stall.
  double longest_call_ms() const { return longest_ * 1e3; }

 private:
  auto timed(const auto& call) -> decltype(call()) {
    const double before = cpu_seconds();
    auto result = call();
    longest_ = std::max(longest_, cpu_seconds() - before);
    return result;
  }

  Store& store_;
  std::size_t batch_;
  std::vector<NewTask> tasks_;
  std::vector<Lease> leases_;  // of the last take
  std::vector<Settlement> settlements_;
  std::vector<std::string> groups_;
  std::size_t next_group_ = 0;
  UuidSource ids_{1};
  TimePoint now_{std::chrono::hours(24 * 365 * 56)};
  double longest_ = 0;
};

}  // namespace millrace::bench
