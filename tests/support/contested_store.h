// The memory store, on which another server seems to be faster with every change of settings: the
// settings by which a caller decided are never those stored by then.
#pragma once

#include <memory>
#include <utility>

#include "store/embedded/memory.h"
#include "store/forwarding.h"

namespace millrace::test {

class ContestedStore final : public ForwardingStore {
 public:
  ContestedStore() : ContestedStore(open_memory()) {}

  Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) override {
    if (mode.seen) {
      auto other = ForwardingStore::queues(settings.name);
      if (!other) return std::unexpected(std::move(other.error()));
      QueueSettings changed = other->front().settings;
      changed.description += "+";
      if (auto put = ForwardingStore::put_queue(changed, PutQueue::replace, now); !put) return put;
    }
    return ForwardingStore::put_queue(settings, mode, now);
  }
  // What a group does differently already.
  Result<Group> put_group(const PutGroup& change, TimePoint now) override {
    if (change.seen) {
      auto other = ForwardingStore::groups({.queue = change.queue, .name = change.name}, now);
      if (!other) return std::unexpected(std::move(other.error()));
      PutGroup faster{.queue = change.queue, .name = change.name};
      faster.seen = faster.now = other->groups.front().override;
      faster.now->max_depth = faster.now->max_depth.value_or(0) + 1;
      if (auto put = ForwardingStore::put_group(faster, now); !put) return put;
    }
    return ForwardingStore::put_group(change, now);
  }
  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode,
                                TimePoint now) override {
    if (mode.seen) {
      auto other = ForwardingStore::schedules(schedule.name);
      if (!other) return std::unexpected(std::move(other.error()));
      Schedule changed = other->front();
      changed.task.type += "x";
      if (auto put = ForwardingStore::put_schedule(changed, PutSchedule::replace, now); !put) {
        return put;
      }
    }
    return ForwardingStore::put_schedule(schedule, mode, now);
  }

 private:
  explicit ContestedStore(std::unique_ptr<Store> memory)
      : ForwardingStore(*memory), memory_(std::move(memory)) {}

  std::unique_ptr<Store> memory_;
};

}  // namespace millrace::test
