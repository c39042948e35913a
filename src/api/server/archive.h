// What moving data in and out of a running server needs beside the broker's verbs; somebody else
// provides it.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <functional>
#include <memory>
#include <vector>

#include "broker/broker.h"
#include "broker/caller.h"
#include "transfer/exporter.h"

namespace millrace::api {

struct Archive {
  // As Store::restore: adds tasks as they were elsewhere.
  std::function<void(Ask ask, std::vector<Task> tasks, Completion<std::vector<Result<Put>>> done)>
      restore = {};
  // Reads the next piece of an export: see Exporter::read().
  std::function<void(Ask ask, std::shared_ptr<transfer::Exporter> exporter, Completion<bool> done)>
      read = {};
  // Memos came in; keys may be among them.
  std::function<void(Completion<void> done)> memos_changed = {};
};

}  // namespace millrace::api
