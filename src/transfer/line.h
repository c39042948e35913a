// One line of an export, read.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/values.h"
#include "transfer/format.h"

namespace millrace::transfer {

struct Header {
  bool newer = false;  // it may have keys and kinds of lines that this version does not know
};
struct End {
  Counts counts = {};
  std::vector<std::string> left_out = {};  // what could not be moved, in words
};
struct Unknown {};  // a kind of line that only a newer Millrace knows

using Line = std::variant<Unknown, Header, Queue, PutGroup, Schedule, Memo, Task, End>;

// Most lines are tasks: reads one into `to`. False: the line is of another kind, and `to` is
// unchanged.
Result<bool> read_task_line(std::string_view text, bool newer, Task& to);

// `newer`: from the header. `invalid` says what is wrong, but not where the line is.
Result<Line> read_line(std::string_view text, bool newer);

}  // namespace millrace::transfer
