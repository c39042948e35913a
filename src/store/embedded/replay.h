// Rebuilds a state from records. Decides nothing.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <string_view>

#include "store/embedded/bytes.h"
#include "store/embedded/records.h"
#include "store/embedded/slot_index.h"
#include "store/embedded/state.h"

namespace millrace::embedded {

// A task keeps its highest version, whatever the order of its records.
class Replay {
 public:
  explicit Replay(State& state) : state_(state) {}

  // Where in the log the first of these bytes lies.
  struct Origin {
    std::uint32_t segment = 0;
    std::uint32_t offset = 0;
  };

  // `corrupt` where the bytes make no sense; what came before them is applied. With an origin the
  // blobs stay where they are. Tasks are not in the indexes until finish().
  Result<void> apply(std::string_view records, const Origin* origin = nullptr);

  // Puts every task into the indexes that its state calls for. More may be applied after it.
  Result<void> finish();

 private:
  bool apply_one(const RecordView& record);
  bool apply_task(const RecordView& record);
  bool apply_change(const RecordView& record);
  bool apply_gone(std::string_view payload);
  bool apply_thing(const RecordView& record);
  bool apply_gone_thing(const RecordView& record);
  bool apply_group(std::string_view payload);
  bool apply_queue(std::string_view payload);

  std::uint32_t find(std::uint64_t number) const;
  void expect_next(std::string_view& ahead) const;
  void unindex(std::uint32_t at);
  bool read_mutable(ByteReader& in, Slot& slot);
  Blob keep(std::string_view bytes);

  State& state_;
  SlotIndex numbers_;
  const Origin* origin_ = nullptr;
  const char* begin_ = nullptr;  // of the bytes being applied
};

}  // namespace millrace::embedded
