#include "core/priority.h"

#include "core/limits.h"
#include "core/quote.h"

#include <fmt/format.h>
#include <millrace/task.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace millrace {
namespace {

struct Named {
  std::string_view name;
  std::uint8_t value;
  std::uint8_t from;  // the least priority that is shown under this name
};
constexpr std::array<Named, 3> names = {{{"high", 8, 7}, {"medium", 5, 4}, {"low", 2, 0}}};

constexpr std::int64_t top = limits::max_priority;
constexpr std::int64_t ordinary = default_priority;
constexpr std::int64_t bullmq_most = 2'097'152;  // BullMQ's own limit

std::string_view allowed_on(PriorityScale scale) {
  switch (scale) {
    case PriorityScale::named:
    case PriorityScale::none:  // refuses nothing
      return "high, medium and low";
    case PriorityScale::zero_to_nine:
      return "0 to 9, 9 being the most urgent";
    case PriorityScale::mtask:
      return "0 and up, 0 being ordinary and larger more urgent";
    case PriorityScale::bullmq:
      return "0 to 2097152, 1 being the most urgent and 0 none";
  }
  return {};
}

std::unexpected<Error> refused(std::string_view shown, PriorityScale scale) {
  return fail(ErrorCode::invalid,
              fmt::format("priority {} is not allowed; allowed are {}", shown, allowed_on(scale)));
}

Result<std::uint8_t> from_name(std::string_view text) {
  const auto* const found = std::ranges::find(names, text, &Named::name);
  if (found == names.end()) return refused(in_quotes(text), PriorityScale::named);
  return found->value;
}

}  // namespace

Result<std::uint8_t> priority_from(std::string_view text, PriorityScale scale) {
  if (text.empty() || scale == PriorityScale::none) return default_priority;
  if (scale == PriorityScale::named) return from_name(text);
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) return refused(in_quotes(text), scale);
  return priority_from(number, scale);
}

Result<std::uint8_t> priority_from(std::int64_t number, PriorityScale scale) {
  switch (scale) {
    case PriorityScale::named:
      break;
    case PriorityScale::zero_to_nine:
      if (number >= 0 && number <= top) return static_cast<std::uint8_t>(number);
      break;
    case PriorityScale::mtask:
      if (number >= 0)
        return static_cast<std::uint8_t>(std::min(number, top - ordinary) + ordinary);
      break;
    case PriorityScale::bullmq:
      if (number == 0) return default_priority;
      if (number > 0 && number <= bullmq_most) {
        return static_cast<std::uint8_t>(std::max<std::int64_t>(0, top + 1 - number));
      }
      break;
    case PriorityScale::none:
      return default_priority;
  }
  return refused(fmt::to_string(number), scale);
}

std::string priority_text(std::uint8_t priority, PriorityScale scale) {
  const std::int64_t value = std::min<std::int64_t>(priority, top);
  switch (scale) {
    case PriorityScale::named:
      return std::string(
          std::ranges::find_if(names, [value](const Named& n) { return value >= n.from; })->name);
    case PriorityScale::zero_to_nine:
      return fmt::to_string(value);
    case PriorityScale::mtask:
      return fmt::to_string(std::max<std::int64_t>(0, value - ordinary));
    case PriorityScale::bullmq:
      return fmt::to_string(top + 1 - value);
    case PriorityScale::none:
      break;
  }
  return {};
}

}  // namespace millrace
