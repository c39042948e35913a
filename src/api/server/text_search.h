// Lists of tasks by what stores do not test while they walk: a text, an error or a group of them, a
// parent.
#pragma once

#include <millrace/ids.h>
#include <optional>
#include <string>

#include "api/server/call.h"

namespace millrace::api {

struct TaskSearch {
  std::optional<std::string> text = std::nullopt;
  std::optional<std::string> error_code = std::nullopt;
  std::optional<std::string> error_group = std::nullopt;  // a name of core/error_group.h
  std::optional<TaskId> parent = std::nullopt;

  bool any() const { return text || error_code || error_group || parent; }
};

TaskSearch search_from(Query& query);

// Answers with a page. So that nobody else waits for it, little is looked at for one: the page may
// be short or empty, and `next` says where to go on.
void search_tasks(CallPtr call, ListRequest request, TaskSearch search);

}  // namespace millrace::api
