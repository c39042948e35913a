// Finding a text in whatever a task says.
#pragma once

#include <millrace/task.h>
#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

// What people may look for; longer texts are a mistake.
inline constexpr std::size_t max_searched_text = 200;

// Letters as small ones: Latin, Greek and Cyrillic. Other bytes stay, also those that are no text.
void append_folded(std::string& out, std::string_view text);

// One text in many tasks. Remembers room, so it is not for two threads at once.
class TaskText {
 public:
  explicit TaskText(std::string_view wanted) { append_folded(wanted_, wanted); }

  // Whether the id, type, a tag, the client, group, request, worker, unique key, error, payload,
  // result or metadata has it. REQUIRES: a task with everything; nothing is found in what was left
  // out.
  bool in(const Task& task);

 private:
  bool has(std::string_view text);

  std::string wanted_;
  std::string folded_;
};

}  // namespace millrace
