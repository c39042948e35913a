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
#include "broker/delivery.h"
#include "broker/ids.h"
#include "broker/lease_book.h"
#include "core/values.h"

namespace millrace {

// The task that a webhook or an alert is about.
struct Subject {
  TaskId id = {};
  std::string_view queue = {};
  std::string_view type = {};
  const Callback* callback = nullptr;
  Counters counters = {};
  std::string_view client_id = {};
  std::string_view request_id = {};
};

Subject subject_of(const LeaseNote& note);
Subject subject_of(const Lease& lease);
Subject subject_of(const Task& task);

// What the operator is alerted to by the end of a task; without a message: nothing.
struct TaskAlert {
  AlertKind kind = AlertKind::task_dead;
  std::string_view message = {};
};
TaskAlert alert_about(Event event, const std::optional<TaskError>& error);
// The message of an alert about tasks, and its headline: S3's text of a final failure. A task
// without a type goes by its queue.
std::string_view message_of(AlertKind kind);
std::string title_of(const std::string& queue, const std::string& type);

class DeliveryTasks {
 public:
  DeliveryTasks(bool webhooks, bool alerts, AlertBook& sent, Ids& ids)
      : webhooks_(webhooks), alerts_(alerts), sent_(sent), ids_(ids) {}

  bool can_call_back() const { return webhooks_; }
  bool can_alert() const { return alerts_; }

  // Adds the webhook and the alert, if there are any, to a decided settlement. A result that finds
  // no room beside the other follow-ups is left out of the webhook; the task keeps it.
  void add_to(Settlement& settlement, const Subject& subject, TimePoint now) const;

  // What goes along with the cancellation of a waiting task.
  std::vector<NewTask> of_cancel(const Subject& subject, const std::string& reason,
                                 TimePoint now) const;

  // The webhook of a finished task once more, from what is stored of it.
  Result<NewTask> again(const Task& task, TimePoint now) const;

  // The task that sends an alert. Only where can_alert().
  NewTask alert(const AlertEvent& event, TimePoint now) const;

 private:
  // The alert that goes along with a settlement, unless one like it was sent just now.
  std::optional<NewTask> alert_of(const Settlement& settlement, const Subject& subject,
                                  TimePoint now) const;
  NewTask webhook(const Subject& subject, WebhookEvent event, std::size_t room,
                  TimePoint now) const;

  bool webhooks_;
  bool alerts_;
  AlertBook& sent_;
  Ids& ids_;
};

}  // namespace millrace
