// The path of a value in a document; turned into text only for an error.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::wire {

struct Path {
  const Path* above = nullptr;
  std::string_view key = {};
  std::optional<std::size_t> index = std::nullopt;

  std::string text() const;  // tasks[3].retry.base_ms
};

}  // namespace millrace::wire
