// The stored fields of what only records hold; see fields.h.
#pragma once

#include <memory>

#include "core/rate_window.h"
#include "core/values.h"
#include "store/embedded/bytes.h"
#include "store/embedded/fields.h"
#include "store/embedded/holders.h"
#include "store/embedded/slot.h"

namespace millrace::embedded {

void fields(A<RateWindow> auto& of, const auto& visit) {
  for (auto& used : of.used) visit(used);
  visit(of.newest), visit(of.width);
}
// Only the slots in which something was used.
template <class Out>
void write_uses(Out& out, const RateWindow* window) {
  write(out, window != nullptr);
  if (window == nullptr) return;
  write(out, window->newest), write(out, window->width);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < RateWindow::slot_count; ++i) {
    if (window->used[i] != 0) bits |= std::uint64_t{1} << i;
  }
  write(out, bits);
  for (const std::uint32_t used : window->used) {
    if (used != 0) write(out, used);
  }
}
inline std::unique_ptr<RateWindow> read_uses(ByteReader& in) {
  bool some = false;
  read(in, some);
  if (!some) return nullptr;
  auto window = std::make_unique<RateWindow>();
  std::uint64_t bits = 0;
  read(in, window->newest), read(in, window->width), read(in, bits);
  if ((bits >> RateWindow::slot_count) != 0) in.spoil();
  for (std::size_t i = 0; i < RateWindow::slot_count; ++i) {
    if ((bits >> i & 1U) != 0) read(in, window->used[i]);
  }
  return window;
}

void fields(A<Counters> auto& of, const auto& visit) {
  visit(of.deliveries), visit(of.attempts), visit(of.retries), visit(of.lost);
}
void fields(A<Holder> auto& of, const auto& visit) {
  visit(of.id), visit(of.number), visit(of.until);
}
void fields(A<Memo> auto& of, const auto& visit) {
  visit(of.key), visit(of.value), visit(of.version), visit(of.expires);
}

// The mutable part of a task. State, priority, start and updated_at are always written; these
// fields only where they differ from those of a new task. The order numbers the bits and must not
// change.
void optional_mutables(A<Slot> auto& of, const auto& visit) {
  visit(of.previous_start, no_moment), visit(of.started_at, no_moment);
  visit(of.moment, no_moment), visit(of.token, 0U);
  visit(of.counters.deliveries, 0U), visit(of.counters.attempts, 0U);
  visit(of.counters.retries, 0U), visit(of.counters.lost, 0U);
}

// The bits after those.
inline constexpr std::uint16_t has_worker = 1U << 8U;
inline constexpr std::uint16_t has_notes = 1U << 9U;
inline constexpr std::uint16_t cancel_requested = 1U << 10U;
inline constexpr std::uint16_t has_start_by = 1U << 11U;
inline constexpr std::uint16_t has_steps = 1U << 12U;  // since format 2
inline constexpr std::uint16_t has_waits = 1U << 13U;  // since format 2
inline constexpr std::uint16_t known_bits = (1U << 14U) - 1;

}  // namespace millrace::embedded
