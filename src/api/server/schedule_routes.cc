#include <fmt/format.h>
#include <algorithm>
#include <expected>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

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
    Error hidden = no_such_schedule(back->path[0]);
    with_queues(
        std::move(back), std::move(queues),
        [then = std::move(then), schedule = std::move(schedules.front())](CallPtr again) mutable {
          then(std::move(again), std::move(schedule));
        },
        {}, std::move(hidden));
  };
  broker.schedules(ask, std::move(name),
                   answered<std::vector<Schedule>>(std::move(call), std::move(found)));
}

// Whether the key may touch a schedule, asked in the same step as the change: the schedule may have
// got another queue since it was found.
class Guard {
 public:
  // `seen`: the queue that was checked when the schedule was found.
  explicit Guard(const Call& call, std::optional<QueueRef> seen = std::nullopt)
      : principal_(call.principal), seen_(std::move(seen)) {}

  Result<void> operator()(const Schedule& stored) const {
    if (may_touch(stored.task.queue)) return {};
    return refuse(problem_of(no_such_schedule(stored.name)));
  }
  bool may_touch(const QueueRef& queue) const {
    if (!principal_.restricted() || queue == seen_) return true;
    const auto* name = std::get_if<std::string>(&queue);
    return name != nullptr && principal_.may_touch(*name);
  }
  // The broker's errors have no status, so the problem is kept beside them.
  std::unexpected<Error> refuse(Problem problem) const {
    *refused_ = std::move(problem);
    return fail(ErrorCode::invalid, (*refused_)->detail);
  }
  // Handles the broker's answer, on the thread of the connection.
  template <class T, class Then>
  Completion<T> answered(CallPtr call, Then then) const {
    auto next = [refused = refused_, then = std::move(then)](CallPtr back,
                                                             Result<T> result) mutable {
      if (!result && *refused) return back->refuse(std::move(**refused));
      if (!result) return back->refuse(result.error());
      if constexpr (std::is_void_v<T>) {
        then(std::move(back));
      } else {
        then(std::move(back), std::move(*result));
      }
    };
    return [done = api::answered<Result<T>>(std::move(call), std::move(next))](
               Result<T> result) mutable {
      done(Result<Result<T>>(std::in_place, std::move(result)));
    };
  }

 private:
  Principal principal_;
  std::optional<QueueRef> seen_;
  std::shared_ptr<std::optional<Problem>> refused_ = std::make_shared<std::optional<Problem>>();
};

// Goes on with the name of the schedule in the path and a Guard for it. Looks the schedule up only
// if the key is restricted.
template <class Then>
void with_guard(CallPtr call, Then then) {
  if (!call->query_is_good()) return;
  if (!call->restricted()) {
    Guard guard(*call);
    std::string name = call->path[0];
    return then(std::move(call), std::move(name), std::move(guard));
  }
  with_schedule(std::move(call), [then = std::move(then)](CallPtr back, Schedule schedule) mutable {
    Guard guard(*back, std::move(schedule.task.queue));
    then(std::move(back), std::move(schedule.name), std::move(guard));
  });
}

void store_schedule(CallPtr call, Schedule schedule, PutQueue mode, Guard guard, unsigned status) {
  std::vector<QueueRef> queues{schedule.task.queue};
  with_queues(std::move(call), std::move(queues),
              [schedule = std::move(schedule), mode, guard = std::move(guard),
               status](CallPtr back) mutable {
                LocalBroker& broker = *back->broker;
                const Ask ask = back->ask();
                auto then = [status](CallPtr again, const Schedule& stored) {
                  answer_schedule(std::move(again), stored, status);
                };
                broker.put_schedule(ask, std::move(schedule), mode, guard,
                                    guard.answered<Schedule>(std::move(back), std::move(then)));
              });
}

// Changes the schedule of the path in one step and shows what became of it.
template <class Change>
void change_stored(CallPtr call, Change change) {
  with_guard(std::move(call), [change = std::move(change)](CallPtr back, std::string name,
                                                           Guard guard) mutable {
    LocalBroker& broker = *back->broker;
    const Ask ask = back->ask();
    ScheduleChange guarded = [guard, change = std::move(change)](Schedule& schedule) mutable {
      auto good = guard(schedule);
      return good ? change(schedule, guard) : good;
    };
    auto then = [](CallPtr again, const Schedule& stored) {
      answer_schedule(std::move(again), stored, 200);
    };
    broker.change_schedule(ask, std::move(name), std::move(guarded),
                           guard.answered<Schedule>(std::move(back), std::move(then)));
  });
}

void set_paused(CallPtr call, bool paused) {
  change_stored(std::move(call), [paused](Schedule& schedule, const Guard&) -> Result<void> {
    schedule.paused = paused;
    return {};
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
  if (!schedule) return;
  Guard guard(*call);
  store_schedule(std::move(call), std::move(*schedule), PutQueue::create, std::move(guard), 201);
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
  auto store = [schedule = std::move(*schedule)](CallPtr back, Guard guard) mutable {
    store_schedule(std::move(back), std::move(schedule), PutQueue::replace, std::move(guard), 200);
  };
  if (!call->restricted()) {
    Guard guard(*call);
    return store(std::move(call), std::move(guard));
  }
  // If the schedule exists, the key must also be allowed to touch its present queue.
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  std::string name = call->path[0];
  auto found = [call = std::move(call),
                store = std::move(store)](Result<std::vector<Schedule>> schedules) mutable {
    if (!schedules && schedules.error().code != ErrorCode::not_found) {
      return call->refuse(schedules.error());
    }
    std::vector<QueueRef> queues;
    if (schedules && !schedules->empty()) queues.push_back(schedules->front().task.queue);
    Guard guard(*call, queues.empty() ? std::nullopt : std::optional(queues.front()));
    Error hidden = no_such_schedule(call->path[0]);
    with_queues(
        std::move(call), std::move(queues),
        [guard = std::move(guard), store = std::move(store)](CallPtr back) mutable {
          store(std::move(back), std::move(guard));
        },
        {}, std::move(hidden));
  };
  broker.schedules(ask, std::move(name), std::move(found));
}

void change_schedule(CallPtr call) {
  if (auto wrong = wire::merged("{}", call->request.body, {}); !wrong) {
    return call->refuse(wrong.error());
  }
  std::string patch = call->request.body;
  change_stored(
      std::move(call),
      [patch = std::move(patch)](Schedule& schedule, const Guard& guard) -> Result<void> {
        auto patched = wire::patched(schedule, patch);
        if (!patched) return guard.refuse(problem_of(patched.error()));
        if (patched->task.queue != schedule.task.queue && !guard.may_touch(patched->task.queue)) {
          return guard.refuse({.status = 403,
                               .code = "forbidden",
                               .detail = "this key may not touch the queue of the changed task"});
        }
        schedule.rule = std::move(patched->rule), schedule.task = std::move(patched->task);
        schedule.overlap = patched->overlap, schedule.missed = patched->missed;
        schedule.missed_most = patched->missed_most, schedule.jitter = patched->jitter;
        schedule.paused = patched->paused;
        return {};
      });
}

void remove_schedule(CallPtr call) {
  with_guard(std::move(call), [](CallPtr back, std::string name, Guard guard) {
    LocalBroker& broker = *back->broker;
    const Ask ask = back->ask();
    auto then = [](CallPtr again) { again->answer(HttpResponse{.status = 204}); };
    broker.remove_schedule(ask, std::move(name), guard,
                           guard.answered<void>(std::move(back), std::move(then)));
  });
}

void pause_schedule(CallPtr call) {
  set_paused(std::move(call), true);
}

void resume_schedule(CallPtr call) {
  set_paused(std::move(call), false);
}

void run_schedule(CallPtr call) {
  with_guard(std::move(call), [](CallPtr back, std::string name, Guard guard) {
    LocalBroker& broker = *back->broker;
    const Ask ask = back->ask();
    auto then = [](CallPtr again, const Put& put) {
      std::string out;
      wire::append(out, put);
      again->answer(std::move(out), 201);
    };
    broker.run_schedule(ask, std::move(name), guard,
                        guard.answered<Put>(std::move(back), std::move(then)));
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
