// What the API shows of queues, workers, schedules and tasks in addition to their values.
#pragma once

#include <millrace/queue.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <string>
#include <string_view>

#include "api/wire/beat.h"
#include "api/wire/fields.h"
#include "api/wire/input.h"
#include "broker/broker.h"
#include "core/values.h"

namespace millrace::wire {

void fields(A<Explanation> auto& of, auto& visit) {
  visit("id", of.id), visit("state", of.state), visit("gate", of.gate);
  visit("sentence", of.sentence), visit("until", of.until), visit("ahead", of.ahead);
  visit("estimate", of.estimate);
}
void fields(A<Parent> auto& of, auto& visit) {
  visit("id", required(of.id)), visit("state", of.state), visit("waits", always(of.waits));
  visit("queue", of.queue), visit("type", of.type), visit("finished_at", of.finished_at);
  visit("content_type", of.content_type), visit("result", embedded(of.result));
  visit("error", of.error);
}
void fields(A<Parents> auto& of, auto& visit) {
  visit("parents", always(of.parents)), visit("total", always(of.total));
  visit("waits_for", always(of.waits_for)), visit("next", of.next);
}
void fields(A<HeldTask> auto& of, auto& visit) {
  visit("id", required(of.id)), visit("queue", required(of.queue)), visit("type", of.type);
  visit("since", of.since), visit("until", of.until);
}
void fields(A<ManagerView> auto& of, auto& visit) {
  visit("enabled", always(of.enabled)), visit("desired", always(of.desired));
}
void fields(A<WorkerView> auto& of, auto& visit) {
  visit("name", always(of.name)), visit("queues", of.queues);
  visit("first_seen", of.first_seen), visit("last_seen", of.last_seen);
  visit("taken", always(of.taken)), visit("settled", always(of.settled));
  visit("holding", always(of.holding)), visit("tasks", of.tasks);
  visit("running", of.running), visit("report", of.report);
  visit("assignments", of.assignments);
}
void fields(A<Handled> auto& of, auto& visit) {
  visit("done", always(of.done)), visit("refused", always(of.refused));
}
void fields(A<Traits> auto& of, auto& visit) {
  visit("name", of.name), visit("durability", of.durability);
  visit("loss_window_ms", of.loss_window), visit("leases_survive", always(of.leases_survive));
  visit("exact_order", always(of.exact_order)), visit("exact_counts", always(of.exact_counts));
  visit("batch", of.batch), visit("task_size", of.task_size);
  visit("follow_ups", of.follow_ups), visit("time_precision_ms", of.time_precision);
  visit("several_processes", always(of.several_processes));
  visit("graphs", always(of.graphs)), visit("groups", always(of.groups));
}

// ---- Writing ----

std::string page_of(const TaskPage& page);
// A page that was read with Detail::full. Each task has `preview`: the first 200 bytes of its
// payload as text, cut between characters; none if there are none, or if they are not UTF-8.
// Without `full`, what lists leave out is left out here, too.
std::string page_with_previews(TaskPage page, bool full);
std::string view_of(const Task& task);
std::string view_of(const Parents& parents);
std::string view_of(const QueueView& view);
std::string view_of(const Schedule& schedule);
std::string stats_of(const QueueView& view);
// {"<name>":[…]}
std::string view_of(std::string_view name, const std::vector<QueueView>& views, bool stats);
std::string view_of(std::string_view name, const std::vector<Schedule>& schedules);
// {"schedules":[…]}; if there are `more`, `next` is the name to continue after.
std::string page_of(const std::vector<Schedule>& schedules, bool more);
// {"id":…,"state":…}
std::string state_of(TaskId id, TaskState state);

// ---- Reading ----

// Settings of a queue. The other fields of a view are ignored, so that a view can be changed and
// sent back. `name`, if not empty, is from the path: the body may leave it out.
Read<QueueSettings> read_queue(std::string_view text, std::string_view name);
Read<Schedule> read_schedule(std::string_view text, std::string_view name);

// A merge patch (RFC 7396): null removes, objects are merged, everything else is replaced. Payloads
// and metadata are replaced whole. The list of a queue's policies by type may be patched as an
// object, too: {"types":{"charge":{"timeout_ms":5000},"refund":null}}.
Read<QueueSettings> patched(const QueueSettings& settings, std::string_view patch);
Read<Schedule> patched(const Schedule& schedule, std::string_view patch);
// The merged text of two objects.
Read<std::string> merged(std::string_view target, std::string_view patch, const Path& at);
// The patch that turns one object into another. What is the same in both is left out.
Read<std::string> difference(std::string_view from, std::string_view to);

}  // namespace millrace::wire
