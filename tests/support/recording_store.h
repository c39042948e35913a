// The memory store with its calls written down, in a shorthand: "put 3", "work 1+0+2" (settlements,
// extensions, takes), "find", "ready", "flush". A test can make it fail, and give it other traits.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/embedded/memory.h"
#include "store/forwarding.h"

namespace millrace::test {

class RecordingStore : public ForwardingStore {
 public:
  RecordingStore() : RecordingStore(open_memory().release()) {}

  std::vector<std::string> calls = {};
  std::optional<Error> failure = std::nullopt;  // of every call from now on
  Traits pretended;

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
    if (!note(fmt::format("put {}", tasks.size()))) return std::unexpected(*failure);
    return ForwardingStore::put(tasks, now);
  }
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override {
    if (!note(fmt::format("work {}+{}+{}", settlements.size(), extensions.size(), takes.size()))) {
      return std::unexpected(*failure);
    }
    return ForwardingStore::work(settlements, extensions, takes, now);
  }
  Result<void> flush() override {
    if (!note("flush")) return std::unexpected(*failure);
    return ForwardingStore::flush();
  }
  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override {
    if (!note(fmt::format("find {}", tasks.size()))) return std::unexpected(*failure);
    return ForwardingStore::find(tasks, parts);
  }
  Result<std::vector<std::string>> ready(TimePoint now) override {
    if (!note("ready")) return std::unexpected(*failure);
    return ForwardingStore::ready(now);
  }
  Traits traits() const override { return pretended; }

 private:
  explicit RecordingStore(Store* memory)
      : ForwardingStore(*memory), pretended(memory->traits()), memory_(memory) {}

  bool note(std::string call) {
    calls.push_back(std::move(call));
    return !failure;
  }

  std::unique_ptr<Store> memory_;
};

}  // namespace millrace::test
