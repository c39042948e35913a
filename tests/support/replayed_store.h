// The in-memory store, read through its records: changes go to one state machine; reads go to a
// second one that knows nothing but the records of the first.
#pragma once

#include <string>

#include "store/embedded/records.h"
#include "store/embedded/replay.h"
#include "store/embedded/state_machine.h"
#include "store/forwarding.h"

namespace millrace::test {

class ReplayedStore final : public ForwardingStore {
 public:
  ReplayedStore() : ForwardingStore(machine_) {}

  Result<std::vector<Overdue>> due(TimePoint now, const DueRequest& request) override {
    return ask([&] { return replica_.due(now, request); });
  }
  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override {
    return ask([&] { return replica_.find(tasks, parts); });
  }
  Result<TaskPage> list(const ListRequest& request) override {
    return ask([&] { return replica_.list(request); });
  }
  Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                          TimePoint now) override {
    return ask([&] { return replica_.counts(queue, now); });
  }
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) override {
    return ask([&] { return replica_.queues(queue); });
  }
  Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) override {
    return ask([&] { return replica_.groups(request, now); });
  }
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override {
    return ask([&] { return replica_.schedules(name); });
  }
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override {
    return ask([&] { return replica_.recall(request, now); });
  }
  Result<std::vector<std::string>> ready(TimePoint now) override {
    return ask([&] { return replica_.ready(now); });
  }

  // Brings the replica up to date; `corrupt` if it then differs from the first by a single byte.
  Result<void> flush() override {
    embedded::Records records;
    embedded::take_records(machine_.state(), records);
    if (records.bytes.empty()) return {};
    if (auto applied = replay_.apply(records.bytes); !applied) return applied;
    if (auto finished = replay_.finish(); !finished) return finished;
    std::string first;
    std::string second;
    embedded::write_state(machine_.state(), first);
    embedded::write_state(replica_.state(), second);
    if (first == second) return {};
    return fail(ErrorCode::corrupt, "the records do not make the same state");
  }

 private:
  auto ask(const auto& question) -> decltype(question()) {
    if (auto same = flush(); !same) return std::unexpected(same.error());
    return question();
  }

  embedded::StateMachine machine_{{.record = true}};
  embedded::StateMachine replica_;
  embedded::Replay replay_{replica_.state()};
};

}  // namespace millrace::test
