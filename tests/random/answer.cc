#include "tests/random/answer.h"

#include <fmt/format.h>
#include <algorithm>

#include "tests/support/print.h"

namespace millrace::test {

namespace {

bool agree(const Progress& expected, const Progress& got) {
  if (expected.removed != got.removed || expected.next != got.next) return false;
  return expected.emptying || (expected.promoted == got.promoted && expected.lifted == got.lifted);
}

bool agree(const Item& expected, const Item& got) {
  const auto* progress = std::get_if<Progress>(&expected);
  if (progress == nullptr) {
    return expected.index() == got.index() && std::visit(
                                                  [&](const auto& value) {
                                                    using T = std::remove_cvref_t<decltype(value)>;
                                                    if constexpr (std::is_same_v<T, Progress>) {
                                                      return false;
                                                    } else {
                                                      return value == std::get<T>(got);
                                                    }
                                                  },
                                                  expected);
  }
  const auto* other = std::get_if<Progress>(&got);
  return other != nullptr && agree(*progress, *other);
}

std::string text_of(const Item& item) {
  if (const auto* failure = std::get_if<Failure>(&item)) {
    return fmt::format("{}{}", name_of(failure->code), failure->hint ? " with retry_after" : "");
  }
  if (const auto* note = std::get_if<Note>(&item)) return note->text;
  if (const auto* progress = std::get_if<Progress>(&item)) {
    return fmt::format("promoted {}, removed {}, lifted {}, next {}", progress->promoted,
                       progress->removed, progress->lifted,
                       progress->next ? to_text(*progress->next) : "none");
  }
  return std::visit(
      [](const auto& value) {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Failure> || std::is_same_v<T, Note> ||
                      std::is_same_v<T, Progress>) {
          return std::string();
        } else {
          return ::testing::PrintToString(value);
        }
      },
      item);
}

// The part from the first field that differs, so that it is easy to find in a long line.
std::string tail(const std::string& text, std::size_t from) {
  constexpr std::size_t most = 160;
  const auto start = text.substr(0, from).find_last_of(" {");
  return text.substr(start == std::string::npos ? 0 : start + 1, most);
}

}  // namespace

std::optional<std::string> disagreement(const Answer& expected, const Answer& got) {
  for (std::size_t i = 0; i < std::max(expected.size(), got.size()); ++i) {
    const bool both = i < expected.size() && i < got.size();
    if (both && agree(expected[i], got[i])) continue;
    const auto left = i < expected.size() ? text_of(expected[i]) : "nothing";
    const auto right = i < got.size() ? text_of(got[i]) : "nothing";
    auto text = fmt::format("item {} of the answer\n  expected {}\n  got      {}", i, left, right);
    const auto differs = std::ranges::mismatch(left, right).in1 - left.begin();
    if (both && expected[i].index() == got[i].index() && differs > 0) {
      const auto from = static_cast<std::size_t>(differs);
      text += fmt::format("\n  that is  {}\n  against  {}", tail(left, from), tail(right, from));
    }
    return text;
  }
  return std::nullopt;
}

}  // namespace millrace::test
