// A task from the flags of `put` and `schedules create`.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace millrace::cli {

struct TaskFlags {
  std::optional<std::string> type = std::nullopt;
  std::optional<std::string> priority = std::nullopt;
  std::optional<std::string> delay = std::nullopt;
  std::optional<std::string> at = std::nullopt;
  std::optional<std::string> start_by = std::nullopt;
  std::optional<std::string> id = std::nullopt;
  std::optional<std::string> unique = std::nullopt;
  std::optional<std::string> unique_scope = std::nullopt;
  std::optional<std::string> unique_for = std::nullopt;
  std::optional<std::string> on_conflict = std::nullopt;
  std::optional<std::string> max_delay = std::nullopt;
  std::vector<std::string> tags = {};
  std::optional<std::string> group = std::nullopt;
  std::optional<std::string> cost = std::nullopt;
  std::optional<std::string> client = std::nullopt;
  std::optional<std::string> request = std::nullopt;
  std::optional<std::string> parent = std::nullopt;
  std::optional<std::string> timeout = std::nullopt;
  std::optional<std::string> retries = std::nullopt;
  std::optional<std::string> max_lost = std::nullopt;
  std::optional<std::string> callback = std::nullopt;
  std::vector<std::string> callback_events = {};
  std::optional<std::string> callback_attempts = std::nullopt;
  std::optional<std::string> keep_for = std::nullopt;
  std::optional<std::string> keep_completed = std::nullopt;
  std::optional<std::string> keep_dead = std::nullopt;
  std::vector<std::string> meta = {};
  std::vector<std::string> after = {};
  std::optional<std::string> when = std::nullopt;
  std::optional<std::string> otherwise = std::nullopt;
  bool held = false;
  bool text = false;
  bool base64 = false;
  std::optional<std::string> content_type = std::nullopt;

  bool any() const;  // whether anything is given beside the form of the payload
};

void takes_payload_form(Command& command, TaskFlags& flags);
// What every task may have, and what only one that is put now.
void takes_task(Command& command, TaskFlags& flags);
void takes_moment(Command& command, TaskFlags& flags);

// Everything but the payload. `queue` is a name, a number or a UUID.
Result<NewTask> task_from(const TaskFlags& flags, std::string_view queue, TimePoint now);

// Warns of a --callback to an address that servers do not call unless they are told to.
void warn_of_private(const TaskFlags& flags, Console& console);

// The bytes of a payload argument: the argument itself, @FILE, - or @- for `in`.
Result<std::string> payload_bytes(const std::string& argument, std::istream& in);
// The answer of a release, from an argument of the same form: JSON but null, or any text.
Result<std::string> answer_from(const std::string& argument, std::istream& in);
// By the flags; JSON is checked, and the error shows the position.
Result<std::string> payload_from(std::string bytes, const TaskFlags& flags);

}  // namespace millrace::cli
