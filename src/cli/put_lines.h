// Many tasks, one a line of standard input.
#pragma once

#include <millrace/task.h>
#include <string>

#include "cli/new_task.h"
#include "cli/session.h"

namespace millrace::cli {

struct PutLines {
  NewTask like = {};         // what every task has beside its payload
  TaskFlags flags = {};      // what a payload is
  bool whole_tasks = false;  // a line is a task in the words of the API; only like.queue counts
  bool print_ids = false;
};

// In requests of many, a few of them at a time, so that memory stays small however long it goes.
// Lines that are refused are told by their number, and the others go on.
Exit put_lines(const PutLines& what, Session& session);

}  // namespace millrace::cli
