// Webhooks and alerts as follow-up tasks: stored in the commit that ends the task, so that nothing
// is ever finished and its callback lost.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/alert_book.h"
#include "broker/ids.h"
#include "broker/lease_book.h"
#include "broker/notice.h"
#include "core/values.h"

namespace millrace {

// The task a notice is about.
struct Subject {
  TaskId id = {};
  std::string_view queue = {};
  std::string_view type = {};
  const Callback* callback = nullptr;
  Counters counters = {};
  std::string_view client_id = {};
  std::string_view request_id = {};
  std::string_view metadata = {};
};

Subject subject_of(const LeaseNote& note);
Subject subject_of(const Lease& lease);
Subject subject_of(const Task& task);

// What whoever runs the server should hear of the end of a task; empty: nothing.
struct TaskAlert {
  AlertKind kind = AlertKind::task_dead;
  std::string_view message = {};
};
TaskAlert alert_about(Event event, const std::optional<TaskError>& error);
// The message of an alert about tasks, and its headline: S3's text of a final failure. A task
// without a type goes by its queue.
std::string_view message_of(AlertKind kind);
std::string title_of(const std::string& queue, const std::string& type);

class Notices {
 public:
  // Without `compose` there are neither webhooks nor alerts.
  Notices(ComposeNotice compose, bool alerts, AlertBook& sent, Ids& ids)
      : compose_(std::move(compose)), alerts_(alerts), sent_(sent), ids_(ids) {}

  bool can_call_back() const { return static_cast<bool>(compose_); }
  bool can_alert() const { return alerts_ && compose_; }

  // Adds to a decided settlement what the world is to be told of it. A result that finds no room
  // beside the other follow-ups is left out of the notice; the task keeps it.
  void add_to(Settlement& settlement, const Subject& subject, TimePoint now) const;

  // What goes along with the cancellation of a waiting task.
  std::vector<NewTask> of_cancel(const Subject& subject, const std::string& reason,
                                 TimePoint now) const;

  // The webhook of a finished task once more, from what is stored of it.
  Result<NewTask> again(const Task& task, TimePoint now) const;

  // The task that sends an alert. Only where can_alert().
  NewTask alert(Notice notice, TimePoint now) const;

 private:
  NewTask webhook(const Subject& subject, Notice notice, std::size_t room, TimePoint now) const;
  ComposeNotice compose_;
  bool alerts_;
  AlertBook& sent_;
  Ids& ids_;
};

}  // namespace millrace
