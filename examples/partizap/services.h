// What the jobs need of the world: providers, storage, database, monitoring.
#pragma once

#include <millrace/context.h>
#include <millrace/fields.h>
#include <millrace/ids.h>
#include <functional>
#include <string>
#include <string_view>

#include "database.h"
#include "jobs.h"
#include "storage.h"

namespace partizap {

// NOLINTBEGIN(readability-identifier-naming): members are called as monitoring knows them.
struct AlertData {
  std::optional<millrace::TaskId> jobId = std::nullopt;
  std::string error;
};
MILLRACE_FIELDS(AlertData, jobId, error)

struct Alert {
  std::string level = "error";
  std::string message;
  AlertData data;
};
MILLRACE_FIELDS(Alert, level, message, data)
// NOLINTEND(readability-identifier-naming)

// The functions are called from several threads, and throw where they fail. A task may be run
// twice, so providers get the task, whose id tells them that they have seen it before.
struct Services {
  Storage storage;
  Database database = {};
  std::function<void(const SendSmsJob& sms, millrace::Context& task)> send_sms;
  std::function<void(const SendEmailJob& email, millrace::Context& task)> send_email;
  std::function<void(const Alert& alert)> alert;
  std::function<void(std::string_view line)> log;
};

}  // namespace partizap
