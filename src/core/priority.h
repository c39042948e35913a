// Priorities are 0 to 9, 9 first. Callers may use another scale; this translates.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

enum class PriorityScale : std::uint8_t {
  named = 0,         // high 8, medium 5, low 2
  zero_to_nine = 1,  // as they are
  mtask = 2,         // 0 is ordinary (5), larger is sooner: 5 + p, at most 9
  bullmq = 3,        // 1 is soonest (9) … 9 is 1, 10 and more is 0; 0 is "none given" (5)
  none = 4,          // plain order of arrival: always 5, whatever is given
};

// Into 0 to 9. Text is a name or a decimal number, as the scale wants it; empty text is a missing
// priority and gives the default, 5. Anything outside the scale: `invalid`, naming what is allowed.
Result<std::uint8_t> priority_from(std::string_view text, PriorityScale scale);
Result<std::uint8_t> priority_from(std::int64_t number, PriorityScale scale);

// The way back, for output in the caller's scale: the value on it that is nearest to `priority`
// (7 to 9 are high, 0 to 3 low; mtask knows nothing below 0). Empty on the scale `none`.
std::string priority_text(std::uint8_t priority, PriorityScale scale);

}  // namespace millrace
