// Where a task came from and what came of it. Nobody keeps an index of parents; but children are
// put after their parent, and most of them when one of its runs begins or ends. So the newest tasks
// are looked at, and if these are not all, those that were put in these moments.
#include <algorithm>
#include <memory>
#include <utility>

#include "api/server/handlers.h"
#include "api/wire/text_writer.h"
#include "core/limits.h"
#include "core/transition.h"

namespace millrace::api {
namespace {

constexpr std::string_view webhooks = "$webhooks";
constexpr std::size_t most_children = 100;
constexpr std::size_t most_deliveries = 10;
constexpr unsigned newest_pages = 2;
constexpr std::size_t most_moments = 3;

struct Kin {
  Task task = {};
  std::optional<Task> parent = std::nullopt;
  std::vector<Task> children = {};
  std::vector<Task> deliveries = {};
  std::vector<TimePoint> moments = {};  // still to be looked at
  TaskNumber newest = {};
  std::uint64_t looked_at = 0;
  bool complete = false;
  std::size_t read = 0;  // deliveries that are known with everything
};
using KinPtr = std::unique_ptr<Kin>;

// ---- Answering ---------------------------------------------------------------------------------

void append_relative(std::string& out, const Task& task) {
  wire::TextWriter writer(out);
  writer("id", task.id), writer("queue", task.queue), writer("type", task.type);
  wire::append(writer.key("state"), task.state);
  writer.close();
}

void append_delivery(std::string& out, const Task& task, const std::string& status) {
  wire::TextWriter writer(out);
  writer("id", task.id);
  wire::append(writer.key("state"), task.state);
  wire::append(writer.key("attempts"), task.counters.deliveries);
  if (is_waiting(task.state)) wire::append(writer.key("next"), task.start);
  writer("last_status", status);
  wire::append(writer.key("history"), task.history);
  writer.close();
}

void answer(Call& call, const Kin& kin) {
  std::string out;
  wire::TextWriter writer(out);
  if (kin.parent) append_relative(writer.key("parent"), *kin.parent);
  writer.key("children") += '[';
  for (std::size_t i = 0; i < kin.children.size(); ++i) {
    if (i != 0) out += ',';
    append_relative(out, kin.children[i]);
  }
  out += ']';
  writer.key("deliveries") += '[';
  for (std::size_t i = 0; i < kin.deliveries.size(); ++i) {
    if (i != 0) out += ',';
    const Task& one = kin.deliveries[i];
    // The task remembers what came back last; others say it in their errors.
    const bool last = i == 0 && kin.task.delivery;
    const std::string status = last        ? kin.task.delivery->last_status
                               : one.error ? one.error->message
                                           : std::string();
    append_delivery(out, one, status);
  }
  out += ']';
  wire::append(writer.key("looked_at"), kin.looked_at);
  wire::append(writer.key("complete"), kin.complete);
  writer.close();
  call.answer(std::move(out));
}

// ---- Looking -----------------------------------------------------------------------------------

bool is_known(const std::vector<Task>& tasks, TaskId id) {
  return std::ranges::find(tasks, id, &Task::id) != tasks.end();
}

// Of other internal queues nothing is shown, and neither of queues that the key is not for.
void note(const Call& call, Kin& kin, TaskPage& page) {
  kin.looked_at += page.looked_at;
  for (Task& task : page.tasks) {
    if (task.parent != kin.task.id) continue;
    const bool is_delivery = task.queue == webhooks;
    if (!is_delivery && (task.queue.starts_with('$') || !call.may_touch(task.queue))) continue;
    auto& kept = is_delivery ? kin.deliveries : kin.children;
    if (kept.size() < (is_delivery ? most_deliveries : most_children) && !is_known(kept, task.id)) {
      kept.push_back(std::move(task));
    }
  }
}

// What came back is noted before a delivery ends: read after it, it is never older.
void read_note(CallPtr call, KinPtr kin) {
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  const TaskId id = kin->task.id;
  broker.find(ask, id, [call = std::move(call), kin = std::move(kin)](Result<Task> found) {
    if (found) kin->task.delivery = std::move(found->delivery);  // else it has just been removed
    answer(*call, *kin);
  });
}

// Deliveries with their histories, one after the other.
void read_deliveries(CallPtr call, KinPtr kin) {
  if (kin->read == kin->deliveries.size()) {
    std::ranges::sort(kin->children, {}, &Task::number);
    if (kin->deliveries.empty()) return answer(*call, *kin);
    return read_note(std::move(call), std::move(kin));
  }
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  const TaskId id = kin->deliveries[kin->read].id;
  broker.find(ask, id, [call = std::move(call), kin = std::move(kin)](Result<Task> found) mutable {
    Task& place = kin->deliveries[kin->read++];
    if (found) place = std::move(*found);  // else it has just been removed
    read_deliveries(std::move(call), std::move(kin));
  });
}

void look_at_moments(CallPtr call, KinPtr kin);

// All that were put at and after a moment, as far as one page goes.
void look_from(CallPtr call, KinPtr kin, TaskNumber first) {
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  ListRequest request{.before = TaskNumber{first.value + limits::max_page},
                      .from = first,
                      .limit = limits::max_page};
  auto then = [kin = std::move(kin)](CallPtr back, TaskPage page) mutable {
    note(*back, *kin, page);
    look_at_moments(std::move(back), std::move(kin));
  };
  broker.list(ask, std::move(request), answered<TaskPage>(std::move(call), std::move(then)));
}

// Finds the first task that was put at a moment or after it. Those before `low` are older; `high`
// is not, or is beyond the newest.
void find_place(CallPtr call, KinPtr kin, TimePoint moment, std::uint64_t low, std::uint64_t high) {
  if (low >= high) return look_from(std::move(call), std::move(kin), TaskNumber{low});
  const std::uint64_t middle = low + (high - low) / 2;
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  ListRequest request{.before = TaskNumber{middle + 1}, .from = TaskNumber{low}, .limit = 1};
  auto then = [kin = std::move(kin), moment, low, high, middle](CallPtr back,
                                                                const TaskPage& page) mutable {
    const bool after = !page.tasks.empty() && page.tasks.front().created_at >= moment;
    // A number that is gone is neither before nor after: the next one that is there decides.
    const std::uint64_t bottom = after ? low : middle + 1;
    const std::uint64_t top = after ? page.tasks.front().number.value : high;
    find_place(std::move(back), std::move(kin), moment, bottom, top);
  };
  broker.list(ask, std::move(request), answered<TaskPage>(std::move(call), std::move(then)));
}

void look_at_moments(CallPtr call, KinPtr kin) {
  if (kin->moments.empty()) return read_deliveries(std::move(call), std::move(kin));
  const TimePoint moment = kin->moments.back();
  kin->moments.pop_back();
  const std::uint64_t low = kin->task.number.value + 1;
  const std::uint64_t high = kin->newest.value + 1;
  find_place(std::move(call), std::move(kin), moment, low, high);
}

void look_at_newest(CallPtr call, KinPtr kin, std::optional<TaskNumber> before, unsigned pages) {
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  ListRequest request{
      .before = before, .from = TaskNumber{kin->task.number.value + 1}, .limit = limits::max_page};
  auto then = [kin = std::move(kin), pages](CallPtr back, TaskPage page) mutable {
    if (!page.tasks.empty()) kin->newest = std::max(kin->newest, page.tasks.front().number);
    note(*back, *kin, page);
    kin->complete = !page.next;
    if (kin->complete) return read_deliveries(std::move(back), std::move(kin));
    if (pages == 1) return look_at_moments(std::move(back), std::move(kin));
    look_at_newest(std::move(back), std::move(kin), page.next, pages - 1);
  };
  broker.list(ask, std::move(request), answered<TaskPage>(std::move(call), std::move(then)));
}

// When follow-ups and webhooks are put, newest last.
std::vector<TimePoint> moments_of(const Task& task) {
  std::vector<TimePoint> moments;
  for (const Attempt& attempt : task.history) moments.push_back(attempt.ended_at);
  if (task.started_at) moments.push_back(*task.started_at);
  if (task.finished_at) moments.push_back(*task.finished_at);
  std::ranges::sort(moments);
  const auto same = std::ranges::unique(moments);
  moments.erase(same.begin(), same.end());
  if (moments.size() > most_moments) {
    moments.erase(moments.begin(), moments.end() - most_moments);
  }
  return moments;
}

void find_parent(CallPtr call, KinPtr kin) {
  const TaskId parent = kin->task.parent;
  if (parent == TaskId{}) {
    return look_at_newest(std::move(call), std::move(kin), std::nullopt, newest_pages);
  }
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  broker.find(ask, parent,
              [call = std::move(call), kin = std::move(kin)](Result<Task> found) mutable {
                if (!found && found.error().code != ErrorCode::not_found) {
                  return call->refuse(found.error());
                }
                if (found && call->may_touch(found->queue)) kin->parent = std::move(*found);
                look_at_newest(std::move(call), std::move(kin), std::nullopt, newest_pages);
              });
}

}  // namespace

void get_family(CallPtr call) {
  if (!call->query_is_good()) return;
  with_task(std::move(call), [](CallPtr back, TaskId id) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    broker.find(ask, id, answered<Task>(std::move(back), [](CallPtr again, Task task) {
                  auto kin = std::make_unique<Kin>();
                  kin->moments = moments_of(task);
                  kin->task = std::move(task);
                  find_parent(std::move(again), std::move(kin));
                }));
  });
}

}  // namespace millrace::api
