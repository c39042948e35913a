// Rebuilds a state from records. Decides nothing.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <string_view>

#include "store/embedded/slot_index.h"
#include "store/embedded/state.h"

namespace millrace::embedded {

// A task keeps its highest version, whatever the order of its records.
class Replay {
 public:
  explicit Replay(State& state) : state_(state) {}

  // `corrupt` where the bytes make no sense; what came before them is applied.
  Result<void> apply(std::string_view records);

 private:
  bool apply_one(std::uint8_t kind, std::string_view payload);
  bool apply_task(std::string_view payload);
  bool apply_change(std::string_view payload);
  bool apply_gone(std::string_view payload);
  bool apply_thing(std::uint8_t kind, std::string_view payload);
  bool apply_gone_thing(std::uint8_t kind, std::string_view payload);
  bool apply_queue(std::string_view payload);

  std::uint32_t find(std::uint64_t number) const;
  void forget(std::uint32_t at);

  State& state_;
  SlotIndex numbers_;
};

}  // namespace millrace::embedded
