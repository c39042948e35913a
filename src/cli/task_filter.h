// The tasks that a command is about.
#pragma once

#include <millrace/result.h>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "core/values.h"

namespace millrace::cli {

struct TaskFilter {
  std::optional<std::string> queue = std::nullopt;
  std::vector<std::string> states = {};
  std::optional<std::string> type = std::nullopt;
  std::optional<std::string> client = std::nullopt;
  std::optional<std::string> group = std::nullopt;
  std::optional<std::string> tag = std::nullopt;
  std::optional<std::string> priority = std::nullopt;
  std::optional<std::string> since = std::nullopt;
  std::optional<std::string> until = std::nullopt;
};

void takes_filter(Command& command, TaskFilter& filter);
// The same without --state and what cannot be combined with it.
void takes_dead_filter(Command& command, TaskFilter& filter);

Result<ListRequest> request_of(const TaskFilter& filter, TimePoint now);

}  // namespace millrace::cli
