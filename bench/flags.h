// The words behind the name of a bench.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::bench {

// Takes the flags out of `words`; what stays are names.
class Flags {
 public:
  explicit Flags(std::vector<std::string>& words) : words_(words) {}

  bool has(std::string_view flag) { return std::erase(words_, flag) != 0; }

  std::optional<std::string> value(std::string_view flag) {
    const auto at = std::ranges::find(words_, flag);
    if (at == words_.end()) return std::nullopt;
    if (at + 1 == words_.end()) refuse(fmt::format("{} needs a value", flag));
    std::string value = *(at + 1);
    words_.erase(at, at + 2);
    return value;
  }

  template <class T>
  void number(std::string_view flag, T& into) {
    const auto text = value(flag);
    if (!text) return;
    T number{};
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error != std::errc{} || end != text->data() + text->size() || number <= T{}) {
      refuse(fmt::format("{} needs a number above 0, not '{}'", flag, *text));
    }
    into = number;
  }

  // What is left must be among these.
  void refuse_others(std::initializer_list<std::string_view> names) const {
    for (const std::string& word : words_) {
      if (std::ranges::find(names, word) != names.end()) continue;
      refuse(fmt::format("'{}' is neither a flag nor among {}; docs/benchmarks.md has the flags",
                         word, fmt::join(names, ", ")));
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& why) {
    std::fprintf(stderr, "bench: %s\n", why.c_str());
    std::exit(2);
  }

  std::vector<std::string>& words_;
};

}  // namespace millrace::bench
