// Ids: strong types, so that a token cannot be used as a task number.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>

namespace millrace {

template <class Tag, class Rep>
struct Strong {
  Rep value{};
  friend constexpr auto operator<=>(const Strong&, const Strong&) = default;
};

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  friend constexpr auto operator<=>(const Uuid&, const Uuid&) = default;
  constexpr bool is_nil() const { return *this == Uuid{}; }
};

// A task's public id: a UUIDv7 made by the broker, or a UUID given by the caller.
using TaskId = Strong<struct TaskIdTag, Uuid>;

// The order of arrival in one store, from 1; a small integer id for systems that need one.
using TaskNumber = Strong<struct TaskNumberTag, std::uint64_t>;

// Fences a lease. Every take makes a new one; 0 is never given out.
using Token = Strong<struct TokenTag, std::uint64_t>;

// Grows by one with every change of a task's record.
using Version = Strong<struct VersionTag, std::uint32_t>;

// The small integer a contract gives a queue (metric label `queue_num`).
using QueueNumber = Strong<struct QueueNumberTag, std::int64_t>;

// A queue by its name, its number or its UUID; every operation accepts any of them.
using QueueRef = std::variant<std::string, QueueNumber, Uuid>;

}  // namespace millrace
