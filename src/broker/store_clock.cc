#include "broker/store_clock.h"
#include "store/store.h"

#include <utility>

namespace millrace {
namespace {

// An answer that took longer is too inexact.
constexpr std::chrono::milliseconds slow{500};

// A smaller difference is not worth a jump: the round trip is not known more exactly.
constexpr Duration close_enough{20};

}  // namespace

Result<void> StoreClock::follow(Store& store) {
  const auto asked = machine_.steady();
  auto time = store.time();
  if (!time) return std::unexpected(std::move(time.error()));
  const auto took = machine_.steady() - asked;
  if (!*time || took > slow) return {};
  // The store read its clock at some moment of the round trip.
  const Duration seen = **time + std::chrono::floor<Duration>(took / 2) - machine_.now();
  if (std::chrono::abs(seen - offset()) > close_enough) {
    offset_.store(seen.count(), std::memory_order_relaxed);
  }
  return {};
}

}  // namespace millrace
