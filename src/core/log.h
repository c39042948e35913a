// A log entry: a sentence and its facts. The room `log` writes entries and decides what they look
// like.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace {

enum class LogLevel : std::uint8_t { debug = 0, info = 1, warning = 2, error = 3 };

using LogValue = std::variant<std::string, std::int64_t, double, bool>;

struct LogEntry {
  LogLevel level = LogLevel::info;
  std::string message = {};  // "Scheduling retry #2 for task 0190... at 2026-01-02T03:04:05.678Z"
  std::vector<std::pair<std::string_view, LogValue>> facts = {};  // names are literals
};

// Where entries go. Safe to call from several threads; never blocks for long, never throws.
struct Log {
  LogLevel least = LogLevel::info;
  std::function<void(const LogEntry&)> write = {};

  // Ask before making an entry that costs something to make.
  bool wants(LogLevel level) const { return write && level >= least; }
  void operator()(LogLevel level, std::string message,
                  std::vector<std::pair<std::string_view, LogValue>> facts = {}) const {
    if (wants(level)) write({level, std::move(message), std::move(facts)});
  }
};

}  // namespace millrace
