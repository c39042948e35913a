#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include <utility>

#include "api/server/handlers.h"
#include "api/wire/put.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "core/limits.h"
#include "core/tick.h"

namespace millrace::api {
namespace {

void answer_schedule(CallPtr call, const Schedule& schedule, unsigned status) {
  call->answer(wire::view_of(schedule), status);
}

// Finds the schedule of the path, if the key may touch the queue of its task.
template <class Then>
void with_schedule(CallPtr call, Then then) {
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  std::string name = call->path[0];
  auto found = [then = std::move(then)](CallPtr back, std::vector<Schedule> schedules) mutable {
    if (schedules.empty()) {
      return back->refuse(Error{ErrorCode::not_found, "there is no such schedule"});
    }
    std::vector<QueueRef> queues{schedules.front().task.queue};
    with_queues(std::move(back), std::move(queues),
                [then = std::move(then), schedule = std::move(schedules.front())](
                    CallPtr again) mutable { then(std::move(again), std::move(schedule)); });
  };
  broker.schedules(ask, std::move(name),
                   answered<std::vector<Schedule>>(std::move(call), std::move(found)));
}

// The same, but looks the schedule up only if the key is restricted.
template <class Then>
void with_schedule_name(CallPtr call, Then then) {
  if (!call->query_is_good()) return;
  if (!call->restricted()) {
    std::string name = call->path[0];
    return then(std::move(call), std::move(name));
  }
  with_schedule(std::move(call), [then = std::move(then)](CallPtr back, Schedule schedule) mutable {
    then(std::move(back), std::move(schedule.name));
  });
}

void store_schedule(CallPtr call, Schedule schedule, PutQueue mode, unsigned status) {
  std::vector<QueueRef> queues{schedule.task.queue};
  with_queues(std::move(call), std::move(queues),
              [schedule = std::move(schedule), mode, status](CallPtr back) mutable {
                LocalBroker& broker = *back->broker;
                const Ask ask = back->ask();
                auto then = [status](CallPtr again, const Schedule& stored) {
                  answer_schedule(std::move(again), stored, status);
                };
                broker.put_schedule(ask, std::move(schedule), mode,
                                    answered<Schedule>(std::move(back), std::move(then)));
              });
}

void set_paused(CallPtr call, bool paused) {
  with_schedule_name(std::move(call), [paused](CallPtr back, std::string name) {
    LocalBroker& broker = *back->broker;
    const Ask ask = back->ask();
    ScheduleChange change = [paused](Schedule& schedule) -> Result<void> {
      schedule.paused = paused;
      return {};
    };
    auto then = [](CallPtr again, const Schedule& stored) {
      answer_schedule(std::move(again), stored, 200);
    };
    broker.change_schedule(ask, std::move(name), std::move(change),
                           answered<Schedule>(std::move(back), std::move(then)));
  });
}

// All the ways in which a task may name a queue.
std::vector<QueueRef> names_of(const QueueSettings& queue) {
  std::vector<QueueRef> names{queue.name, queue.id};
  if (queue.number) names.emplace_back(*queue.number);
  return names;
}

struct SchedulePage {
  std::vector<QueueRef> queues = {};  // the names of one; none: of all queues
  std::optional<std::uint64_t> limit = std::nullopt;
  std::optional<std::string> after = std::nullopt;  // the name of a schedule

  bool has(const Schedule& schedule) const {
    if (after && schedule.name <= *after) return false;
    return queues.empty() || std::ranges::find(queues, schedule.task.queue) != queues.end();
  }
};

void answer_page(CallPtr call, SchedulePage page) {
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  auto then = [page = std::move(page)](CallPtr back, std::vector<Schedule> schedules) {
    std::erase_if(schedules, [&](const Schedule& schedule) {
      const auto* name = std::get_if<std::string>(&schedule.task.queue);
      if (back->restricted() && (name == nullptr || !back->may_touch(*name))) return true;
      return !page.has(schedule);
    });
    std::ranges::sort(schedules, {}, &Schedule::name);
    const bool more = page.limit && schedules.size() > *page.limit;
    if (more) schedules.resize(*page.limit);
    back->answer(wire::page_of(schedules, more));
  };
  broker.schedules(ask, std::nullopt,
                   answered<std::vector<Schedule>>(std::move(call), std::move(then)));
}

// A queue that does not exist yet may have schedules, which create it.
void answer_queue(CallPtr call, SchedulePage page, const Result<std::vector<QueueView>>& found) {
  if (!found && found.error().code != ErrorCode::not_found) return call->refuse(found.error());
  if (found && !found->empty()) page.queues = names_of(found->front().queue.settings);
  answer_page(std::move(call), std::move(page));
}

}  // namespace

void list_schedules(CallPtr call) {
  const auto queue = call->query.text("queue");
  SchedulePage page{.limit = call->query.number("limit", 1, limits::max_page),
                    .after = call->query.text("cursor")};
  if (!call->query_is_good()) return;
  if (!queue) return answer_page(std::move(call), std::move(page));
  page.queues.push_back(queue_from_text(*queue));
  std::vector<QueueRef> wanted = page.queues;
  with_queues(
      std::move(call), std::move(wanted),
      [page = std::move(page)](CallPtr back) mutable {
        LocalBroker& broker = *back->broker;
        const Ask ask = back->ask();
        const QueueRef named = page.queues.front();
        auto then = [call = std::move(back),
                     page = std::move(page)](Result<std::vector<QueueView>> found) mutable {
          answer_queue(std::move(call), std::move(page), found);
        };
        broker.queues(ask, named, std::move(then));
      },
      "queue");
}

void create_schedule(CallPtr call) {
  if (!call->query_is_good()) return;
  auto schedule = call->good(wire::read_schedule(call->request.body, {}));
  if (schedule) store_schedule(std::move(call), std::move(*schedule), PutQueue::create, 201);
}

void get_schedule(CallPtr call) {
  if (!call->query_is_good()) return;
  with_schedule(std::move(call), [](CallPtr back, const Schedule& schedule) {
    answer_schedule(std::move(back), schedule, 200);
  });
}

void replace_schedule(CallPtr call) {
  if (!call->query_is_good()) return;
  auto schedule = call->good(wire::read_schedule(call->request.body, call->path[0]));
  if (!schedule) return;
  if (!call->restricted()) {
    return store_schedule(std::move(call), std::move(*schedule), PutQueue::replace, 200);
  }
  // If the schedule exists, the key must also be allowed to touch its present queue.
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  std::string name = call->path[0];
  broker.schedules(ask, std::move(name),
                   [call = std::move(call),
                    schedule = std::move(*schedule)](Result<std::vector<Schedule>> found) mutable {
                     if (!found && found.error().code != ErrorCode::not_found) {
                       return call->refuse(found.error());
                     }
                     std::vector<QueueRef> queues;
                     if (found && !found->empty()) queues.push_back(found->front().task.queue);
                     with_queues(std::move(call), std::move(queues),
                                 [schedule = std::move(schedule)](CallPtr back) mutable {
                                   store_schedule(std::move(back), std::move(schedule),
                                                  PutQueue::replace, 200);
                                 });
                   });
}

void change_schedule(CallPtr call) {
  if (auto wrong = wire::merged("{}", call->request.body, {}); !wrong) {
    return call->refuse(wrong.error());
  }
  auto refused = std::make_shared<std::optional<Problem>>();
  with_schedule_name(std::move(call), [refused](CallPtr back, std::string name) {
    LocalBroker& broker = *back->broker;
    const Ask ask = back->ask();
    ScheduleChange change = [refused, patch = back->request.body,
                             principal = back->principal](Schedule& schedule) -> Result<void> {
      auto patched = wire::patched(schedule, patch);
      if (!patched) {
        *refused = problem_of(patched.error());
        return std::unexpected(patched.error().error);
      }
      const auto* queue = std::get_if<std::string>(&patched->task.queue);
      if (principal.restricted() && patched->task.queue != schedule.task.queue &&
          (queue == nullptr || !principal.may_touch(*queue))) {
        *refused = Problem{.status = 403,
                           .code = "forbidden",
                           .detail = "this key may not touch the queue of the changed task"};
        return fail(ErrorCode::invalid, (*refused)->detail);
      }
      schedule.rule = std::move(patched->rule), schedule.task = std::move(patched->task);
      schedule.overlap = patched->overlap, schedule.missed = patched->missed;
      schedule.missed_most = patched->missed_most, schedule.jitter = patched->jitter;
      schedule.paused = patched->paused;
      return {};
    };
    broker.change_schedule(ask, std::move(name), std::move(change),
                           [refused, call = std::move(back)](Result<Schedule> result) mutable {
                             if (result) return answer_schedule(std::move(call), *result, 200);
                             if (*refused) return call->refuse(**refused);
                             call->refuse(result.error());
                           });
  });
}

void remove_schedule(CallPtr call) {
  with_schedule_name(std::move(call), [](CallPtr back, std::string name) {
    LocalBroker& broker = *back->broker;
    const Ask ask = back->ask();
    broker.remove_schedule(ask, std::move(name), answered<void>(std::move(back), [](CallPtr again) {
                             again->answer(HttpResponse{.status = 204});
                           }));
  });
}

void pause_schedule(CallPtr call) {
  set_paused(std::move(call), true);
}

void resume_schedule(CallPtr call) {
  set_paused(std::move(call), false);
}

void run_schedule(CallPtr call) {
  with_schedule_name(std::move(call), [](CallPtr back, std::string name) {
    LocalBroker& broker = *back->broker;
    const Ask ask = back->ask();
    broker.run_schedule(ask, std::move(name),
                        answered<Put>(std::move(back), [](CallPtr again, const Put& put) {
                          std::string out;
                          wire::append(out, put);
                          again->answer(std::move(out), 201);
                        }));
  });
}

void next_ticks(CallPtr call) {
  const auto count = call->query.number("count", 1, 100).value_or(5);
  if (!call->query_is_good()) return;
  with_schedule(std::move(call), [count](CallPtr back, const Schedule& schedule) {
    const auto rule = Ticks::of(schedule.rule);
    if (!rule) return back->refuse(rule.error());
    std::vector<TimePoint> ticks;
    for (TimePoint at = schedule.next; ticks.size() < count && at != never;) {
      ticks.push_back(at);
      at = rule->next_after(at).value_or(never);
    }
    std::string out;
    wire::TextWriter writer(out);
    wire::append(writer.key("next"), ticks);
    writer.close();
    back->answer(std::move(out));
  });
}

}  // namespace millrace::api
