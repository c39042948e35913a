// Puts many tasks, one per line of standard input.
#pragma once

#include <millrace/task.h>
#include <string>

#include "cli/new_task.h"
#include "cli/session.h"

namespace millrace::cli {

struct PutLines {
  NewTask like = {};         // what every task has beside its payload
  TaskFlags flags = {};      // the form of the payload
  bool whole_tasks = false;  // a line is a whole task as in the API; only like.queue is used
  bool print_ids = false;
};

// Sends requests of many tasks, a few at a time, so that memory stays bounded. Reports refused
// lines by number and continues with the others.
Exit put_lines(const PutLines& what, Session& session);

}  // namespace millrace::cli
