#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "api/client/http_broker.h"
#include "api/client/target.h"
#include "api/wire/requests.h"
#include "api/wire/work.h"
#include "core/mutex.h"
#include "core/time_text.h"
#include "core/transition.h"

namespace millrace {

using client::task_target;

namespace {

// Concurrent requests for single tasks.
constexpr std::size_t most_at_once = 8;

}  // namespace

void HttpBroker::await(Ask ask, TaskRef task, Duration wait, Completion<Task> done) {
  if (wait > Duration{}) return await_more(ask, task, wait, std::move(done));
  call<Task>(ask, {.target = task_target(task)}, wire::task_from, std::move(done));
}

// A server waits for at most a minute, so a longer wait is split.
void HttpBroker::await_more(Ask ask, TaskRef task, Duration left, Completion<Task> done) {
  const Duration piece = std::min(left, wire::max_wait);
  Request request{
      .target = task_target(task, "?wait=" + format_duration(piece)), .wait = piece, .waits = true};
  call<Task>(
      ask, std::move(request), wire::task_from,
      [this, ask, task, left = left - piece, done = std::move(done)](Result<Task> found) mutable {
        if (!found || is_final(found->state) || left <= Duration{}) {
          return done(std::move(found));
        }
        await_more(ask, task, left, std::move(done));
      });
}

void HttpBroker::list(Ask ask, ListRequest request, Completion<TaskPage> done) {
  call<TaskPage>(ask, {.target = client::list_target(request)}, wire::page_from, std::move(done));
}

void HttpBroker::explain(Ask ask, TaskRef task, Completion<Explanation> done) {
  call<Explanation>(ask, {.target = task_target(task, "/explain")}, wire::explanation_from,
                    std::move(done));
}

void HttpBroker::parents(Ask ask, TaskRef task, ParentsRequest request, Completion<Parents> done) {
  call<Parents>(ask,
                {.target = task_target(
                     task, fmt::format("/parents?from={}&limit={}", request.from, request.limit))},
                wire::parents_from, std::move(done));
}

// ---- One request per task ----

struct HttpBroker::StateJob {
  Mutex mutex;
  OneState one = {};
  Completion<States> done = {};
  std::vector<std::optional<Result<TaskState>>> results = {};
  std::size_t begun GUARDED_BY(mutex) = 0;
  std::size_t answered GUARDED_BY(mutex) = 0;

  // The next to send; nullopt: all are sent.
  std::optional<std::size_t> next() {
    const Lock lock(mutex);
    if (begun == results.size()) return std::nullopt;
    return begun++;
  }
  // True: that was the last.
  bool answer(std::size_t place, Result<TaskState> state) {
    const Lock lock(mutex);
    results[place] = std::move(state);
    return ++answered == results.size();
  }
  void finish() {
    States states;
    states.reserve(results.size());
    for (auto& result : results) states.push_back(std::move(*result));
    done(std::move(states));
  }

  // Begins one that is answered later. Those that are answered at once are handled in a loop, not
  // recursively: there may be thousands.
  static void begin_next(const std::shared_ptr<StateJob>& job) {
    for (;;) {
      const auto place = job->next();
      if (!place) return;
      auto second = std::make_shared<std::atomic<bool>>(false);  // to come goes on
      job->one(*place, [job, place = *place, second](Result<TaskState> state) {
        if (job->answer(place, std::move(state))) return job->finish();
        if (second->exchange(true)) begin_next(job);
      });
      if (!second->exchange(true)) return;
    }
  }
};

void HttpBroker::each(std::size_t count, OneState one, Completion<States> done) {
  if (count == 0) return done(States{});
  auto job = std::make_shared<StateJob>();
  job->one = std::move(one), job->done = std::move(done);
  job->results.resize(count);
  for (std::size_t i = 0; i < std::min(count, most_at_once); ++i) StateJob::begin_next(job);
}

void HttpBroker::state_of(const Ask& ask, Request request, Completion<TaskState> done) {
  call<TaskState>(ask, std::move(request), wire::state_from, std::move(done));
}

void HttpBroker::cancel(Ask ask, std::vector<TaskId> tasks, std::string reason,
                        Completion<States> done) {
  const std::size_t count = tasks.size();
  each(
      count,
      [this, ask, tasks = std::move(tasks), body = wire::cancel_text(reason)](
          std::size_t i, Completion<TaskState> one) {
        state_of(ask, {.method = "POST", .target = task_target(tasks[i], "/cancel"), .body = body},
                 std::move(one));
      },
      std::move(done));
}

void HttpBroker::retry(Ask ask, std::vector<TaskId> tasks, Completion<States> done) {
  const std::size_t count = tasks.size();
  each(
      count,
      [this, ask, tasks = std::move(tasks)](std::size_t i, Completion<TaskState> one) {
        state_of(ask, {.method = "POST", .target = task_target(tasks[i], "/retry")},
                 std::move(one));
      },
      std::move(done));
}

void HttpBroker::remove(Ask ask, std::vector<TaskId> tasks, Completion<States> done) {
  const std::size_t count = tasks.size();
  each(
      count,
      [this, ask, tasks = std::move(tasks)](std::size_t i, Completion<TaskState> one) {
        send(ask, {.method = "DELETE", .target = task_target(tasks[i])},
             [one = std::move(one)](Result<Reply> reply) mutable {
               if (!reply) return one(std::unexpected(std::move(reply.error())));
               // A removal has no body; a header carries the state that the task had.
               const std::string_view name = reply->header("x-task-state");
               for (std::size_t state = 0; state < state_count; ++state) {
                 if (name == name_of(TaskState(state))) return one(TaskState(state));
               }
               one(fail(ErrorCode::unavailable, "the answer does not name the state of the task"));
             });
      },
      std::move(done));
}

void HttpBroker::update(Ask ask, std::vector<TaskUpdate> updates, Completion<States> done) {
  const std::size_t count = updates.size();
  each(
      count,
      [this, ask, updates = std::move(updates)](std::size_t i, Completion<TaskState> one) {
        update_one(ask, updates[i], std::move(one));
      },
      std::move(done));
}

void HttpBroker::update_one(const Ask& ask, const TaskUpdate& update, Completion<TaskState> done) {
  if (update.delivery_attempt) {
    return done(fail(
        ErrorCode::invalid,
        "delivery attempts are counted inside a server only and are not part of the HTTP API"));
  }
  const bool only_releases = update.release && !update.priority && !update.start && !update.queue;
  if (update.expect_version && !only_releases) {
    return done(
        fail(ErrorCode::invalid, "a version is expected of a release alone", "expect_version"));
  }
  Request release{.method = "POST",
                  .target = task_target(update.id, "/release"),
                  .body = wire::release_text(update)};
  if (only_releases) return state_of(ask, std::move(release), std::move(done));
  Request change{
      .method = "PATCH", .target = task_target(update.id), .body = wire::update_text(update)};
  if (!update.release) return state_of(ask, std::move(change), std::move(done));
  state_of(ask, std::move(change),
           [this, ask, release = std::move(release),
            done = std::move(done)](Result<TaskState> state) mutable {
             if (!state) return done(std::move(state));
             state_of(ask, std::move(release), std::move(done));
           });
}

void HttpBroker::redeliver(Ask ask, TaskId task, Completion<Put> done) {
  call<Put>(ask, {.method = "POST", .target = task_target(task, "/redeliver")}, wire::put_from,
            std::move(done));
}

// ---- Dead letters ----

void HttpBroker::handle_dead(Ask ask, DeadLetters which, DeadAction action,
                             Completion<Handled> done) {
  const bool retry = action == DeadAction::retry;
  call<Handled>(ask,
                {.method = "POST",
                 .target = retry ? "/v1/dead/retry" : "/v1/dead/remove",
                 .body = wire::dead_letters_text(which)},
                wire::handled_from, std::move(done));
}

}  // namespace millrace
