// The memory store with flushes that wait until the test lets them end, and may fail. Other threads
// may read meanwhile.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "store/embedded/memory.h"
#include "store/forwarding.h"

namespace millrace::test {

class SlowFlushStore final : public ForwardingStore {
 public:
  SlowFlushStore() : SlowFlushStore(open_memory()) {}

  std::atomic<int> begun = 0;  // flushes
  std::atomic<bool> may_end = true;
  std::optional<Error> failure = std::nullopt;  // of the next flush that ends
  bool shared = false;                          // other processes change it, too

  void let_go() {
    may_end = true;
    may_end.notify_all();
  }

  Traits traits() const override {
    Traits traits = ForwardingStore::traits();
    traits.several_processes = shared;
    return traits;
  }
  Result<void> flush() override {
    ++begun;
    may_end.wait(false);
    if (failure) return std::unexpected(*failure);
    return ForwardingStore::flush();
  }

 private:
  explicit SlowFlushStore(std::unique_ptr<Store> memory)
      : ForwardingStore(*memory), memory_(std::move(memory)) {}

  std::unique_ptr<Store> memory_;
};

}  // namespace millrace::test
