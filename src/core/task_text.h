// Full-text search in one task.
#pragma once

#include <millrace/task.h>
#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

// The longest text that may be searched for.
inline constexpr std::size_t max_searched_text = 200;

// Letters in lower case: Latin, Greek and Cyrillic. Other bytes stay, also those that are not text.
void append_folded(std::string& out, std::string_view text);

// Searches one text in many tasks. Reuses its buffers, so it is not thread-safe.
class TaskText {
 public:
  explicit TaskText(std::string_view wanted) { append_folded(wanted_, wanted); }

  // Whether the id, type, a tag, the client, group, request, worker, unique key, error, payload,
  // result or metadata contains the text. REQUIRES: a task with all its parts; nothing is found in
  // a part that was left out.
  bool in(const Task& task);

 private:
  bool has(std::string_view text);

  std::string wanted_;
  std::string folded_;
};

}  // namespace millrace
