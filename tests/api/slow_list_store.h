// The memory store with lists that wait until the test lets them go on.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "store/embedded/memory.h"
#include "store/forwarding.h"

namespace millrace::test {

class SlowListStore final : public ForwardingStore {
 public:
  SlowListStore() : SlowListStore(open_memory()) {}

  std::atomic<int> begun = 0;  // lists
  std::atomic<bool> may_end = true;

  void hold() { may_end = false; }
  void let_go() {
    may_end = true;
    may_end.notify_all();
  }
  // Returns when a list is under way.
  void wait_for_list() { begun.wait(0); }

  Result<TaskPage> list(const ListRequest& request) override {
    ++begun;
    begun.notify_all();
    may_end.wait(false);
    return ForwardingStore::list(request);
  }

 private:
  explicit SlowListStore(std::unique_ptr<Store> memory)
      : ForwardingStore(*memory), memory_(std::move(memory)) {}

  std::unique_ptr<Store> memory_;
};

}  // namespace millrace::test
