// Puts, each task for itself or all of them together.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "broker/local_broker.h"
#include "broker/local_parts.h"
#include "broker/recorder.h"
#include "broker/seen.h"
#include "core/check.h"
#include "core/graph.h"
#include "core/limits.h"
#include "core/uuid.h"
#include "core/validate.h"
#include "store/store.h"

namespace millrace {

namespace {

// A run of consecutive tasks that are alike.
struct PutRun {
  std::string queue = {};  // empty: not known yet
  std::string type = {};
  std::string client_id = {};
  std::uint32_t count = 0;
};

// What must be known about a put when it is answered.
struct PutJob {
  Completion<std::vector<Result<Put>>> done;
  std::vector<std::optional<Error>> refused = {};  // by task; empty: none is
  std::vector<PutRun> runs = {};
  std::vector<QueueRef> queues = {};  // by task, where some are unknown
  TimePoint first_start = never;
};

void note_task(PutJob& job, const QueueBook::Reading& book, const NewTask& task, TimePoint now) {
  const auto* name = std::get_if<std::string>(&task.queue);
  const Queue* known = name == nullptr ? book.find(task.queue) : nullptr;
  const std::string_view queue = name != nullptr    ? std::string_view(*name)
                                 : known != nullptr ? std::string_view(known->settings.name)
                                                    : std::string_view();
  const bool same = !job.runs.empty() && !queue.empty() && job.runs.back().queue == queue &&
                    job.runs.back().type == task.type &&
                    job.runs.back().client_id == task.client_id;
  if (!same) job.runs.push_back({std::string(queue), task.type, task.client_id});
  ++job.runs.back().count;
  job.first_start = std::min(job.first_start, first_start_of(task, now).value_or(never));
}

// Names the queues that were given by a number or an id not known when the tasks came.
void name_queues(PutJob& job, const QueueBook& queues) {
  std::size_t at = 0;
  for (PutRun& run : job.runs) {
    if (run.queue.empty() && at < job.queues.size()) {
      if (const auto found = queues.find(job.queues[at])) run.queue = found->settings.name;
    }
    at += run.count;
  }
}

void record_put(Books& books, const std::vector<Result<Put>>& results, PutJob& job, TimePoint now) {
  if (!job.queues.empty()) name_queues(job, books.queues);
  std::vector<std::string> gone;
  {
    Recorder recorder(books, now);
    for (const auto& error : job.refused) {
      if (error) recorder.refused(error->code);
    }
    std::size_t at = 0;
    for (const PutRun& run : job.runs) {
      for (std::uint32_t i = 0; i < run.count; ++i) {
        const auto& result = results[at++];
        if (!result) {
          recorder.refused(result.error().code);
          // A field names another task that is missing.
          const bool no_queue =
              result.error().code == ErrorCode::not_found && result.error().field.empty();
          if (no_queue) gone.push_back(run.queue);
        } else if (result->existing) {
          recorder.existing(run.queue, run.type);
          if (result->replaced) {
            recorder.happened({result->id, run.queue, run.type, run.client_id}, EventKind::changed,
                              result->state.value_or(TaskState::queued));
          }
        } else {
          recorder.put({result->id, run.queue, run.type, run.client_id},
                       result->state.value_or(TaskState::queued));
        }
      }
    }
  }
  // Another process removed it: the next put will find out.
  for (const std::string& queue : gone) books.queues.forget(queue);
}

// A put that is all or none was refused. If it lacked a queue, another process has removed one: the
// next put will find out which.
void forget_gone(Books& books, const PutJob& job, const Error& error) {
  const bool no_queue = error.code == ErrorCode::not_found && !error.field.contains('.');
  if (!no_queue) return;
  for (const PutRun& run : job.runs) books.queues.forget(run.queue);
}

// Whether tasks wait for others that the caller might not see.
bool names_others(const Ask& ask, const std::vector<NewTask>& tasks) {
  if (ask.internal || !ask.may_see) return false;
  return std::ranges::any_of(tasks, [](const NewTask& task) { return task.after.has_value(); });
}

// What a caller may not see is not there, in the words of the stores.
Error unseen_parent(const TaskId& id, std::size_t place) {
  return {.code = ErrorCode::not_found,
          .message = fmt::format("there is no task {} to wait for; it may have ended and been "
                                 "removed. Keep such tasks for longer, or put all of them in one "
                                 "atomic put",
                                 to_text(id.value)),
          .field = fmt::format("after.tasks[{}]", place)};
}

// The tasks to wait for that are there and that the caller may not see. Each is looked up once,
// however many of the tasks of a put wait for it.
class Unseen {
 public:
  Unseen(Store& store, const Ask& ask) : store_(store), ask_(ask) {}

  // A task that comes with the put.
  void knows(const TaskId& id) { hidden_.emplace(id, false); }

  // The refusal of the first of them.
  Result<std::optional<Error>> find(const NewTask& task) {
    if (!task.after) return std::nullopt;
    if (auto good = look_up(task.after->tasks); !good) return std::unexpected(good.error());
    for (std::size_t i = 0; i < task.after->tasks.size(); ++i) {
      const TaskId& id = task.after->tasks[i];
      if (hidden_.at(id)) return unseen_parent(id, i);
    }
    return std::nullopt;
  }

 private:
  Result<void> look_up(const std::vector<TaskId>& ids) {
    std::vector<TaskId> unknown;
    for (const TaskId& id : ids) {
      if (!hidden_.contains(id)) unknown.push_back(id);
    }
    const auto found = find_all(store_, unknown, state_only, limits::max_batch);
    if (!found) return std::unexpected(found.error());
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      const auto& parent = (*found)[i];
      hidden_.emplace(unknown[i], parent && !ask_.sees(parent->queue));
    }
    return {};
  }

  Store& store_;
  const Ask& ask_;
  std::unordered_map<TaskId, bool, UuidHash> hidden_;
};

Result<std::vector<Result<Put>>> put_seen(Store& store, const Ask& ask, std::vector<NewTask> tasks,
                                          TimePoint now) {
  Unseen unseen(store, ask);
  std::vector<std::optional<Error>> refused(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto found = unseen.find(tasks[i]);
    if (!found) return std::unexpected(std::move(found.error()));
    refused[i] = std::move(*found);
  }
  drop_refused(tasks, refused);
  auto puts = store.put(tasks, now);
  if (!puts) return puts;
  return with_refused(std::move(*puts), std::move(refused));
}

// The same for a put that is all or none, where an id that is taken by a task that the caller may
// not see refuses all.
Result<void> check_all_seen(Store& store, const Ask& ask, const std::vector<NewTask>& tasks) {
  if (ask.internal || !ask.may_see) return {};
  std::vector<TaskId> ids;
  for (const NewTask& task : tasks) ids.push_back(task.id);
  const auto found = find_all(store, ids, state_only, limits::max_batch);
  if (!found) return std::unexpected(found.error());
  Unseen unseen(store, ask);
  for (const TaskId& id : ids) unseen.knows(id);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string place = fmt::format("tasks[{}]", i);
    if ((*found)[i] && !ask.sees((*found)[i]->queue)) {
      return std::unexpected(inside(place, Error(taken_id())));
    }
    auto parent = unseen.find(tasks[i]);
    if (!parent) return std::unexpected(std::move(parent.error()));
    if (*parent) return std::unexpected(inside(place, std::move(**parent)));
  }
  return {};
}

}  // namespace

void LocalBroker::put(Ask ask, std::vector<NewTask> tasks,
                      Completion<std::vector<Result<Put>>> done) {
  if (auto good = check::count("tasks", tasks.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  const TimePoint now = clock_.now();
  books_.ids.fill(tasks, now);
  PutJob job{.done = std::move(done)};
  std::vector<QueueRef> unknown;
  {
    const QueueBook::Reading book(books_.queues);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      auto good = check_task(ask, book, tasks[i], now, unknown);
      if (good) {
        note_task(job, book, tasks[i], now);
        if (tasks[i].start_by) job.first_start = std::min(job.first_start, *tasks[i].start_by);
        continue;
      }
      job.refused.resize(tasks.size());
      job.refused[i] = std::move(good.error());
    }
  }
  drop_refused(tasks, job.refused);
  if (!unknown.empty()) {
    for (const NewTask& task : tasks) job.queues.push_back(task.queue);
  }
  const auto problems = need_queues(ask, std::move(unknown), {});
  auto then = [this, ask, problems,
               job = std::move(job)](Result<std::vector<Result<Put>>> results) mutable {
    if (!results) return job.done(std::move(results));
    if (problems) explain_missing(*results, job.queues, problems->of);
    record_put(books_, *results, job, clock_.now());
    hide_others(ask, *results);
    if (job.first_start != never) runner_.wake_at(sweeper_, job.first_start);
    job.done(with_refused(std::move(*results), std::move(job.refused)));
  };
  if (!names_others(ask, tasks)) {
    return (void)coalescer_.put(ask.caller, std::move(tasks), ask.deadline, std::move(then));
  }
  call<std::vector<Result<Put>>>(
      ask,
      [ask, tasks = std::move(tasks)](Store& store, TimePoint at) mutable {
        return put_seen(store, ask, std::move(tasks), at);
      },
      std::move(then));
}

// ---- All or none --------------------------------------------------------------------------------

std::unexpected<Error> LocalBroker::no_graphs(std::string_view field) const {
  return fail(
      ErrorCode::invalid,
      fmt::format("the {} store cannot keep tasks that wait for others, nor put tasks all or "
                  "none, yet; the memory, snapshot, journal and PostgreSQL stores can",
                  books_.traits.name),
      std::string(field));
}

Error LocalBroker::missing_queue(const Problems& problems, const std::vector<QueueRef>& queues,
                                 Error error) {
  for (const auto& [queue, problem] : problems.of) {
    const auto at = std::ranges::find(queues, queue);
    if (at == queues.end()) continue;
    return inside(fmt::format("tasks[{}]", at - queues.begin()), problem);
  }
  return error;
}

void LocalBroker::put_all(Ask ask, std::vector<NewTask> tasks, Completion<std::vector<Put>> done) {
  if (!books_.traits.graphs) return done(no_graphs("atomic"));
  const TimePoint now = clock_.now();
  books_.ids.fill(tasks, now);
  // Nothing is created for tasks that will be refused.
  if (auto good = validate_all(tasks, now); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  PutJob job{};
  std::vector<QueueRef> unknown;
  std::size_t bytes = 0;
  {
    const QueueBook::Reading book(books_.queues);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (auto good = check_task(ask, book, tasks[i], now, unknown); !good) {
        return done(std::unexpected(inside(fmt::format("tasks[{}]", i), std::move(good.error()))));
      }
      note_task(job, book, tasks[i], now);
      if (tasks[i].start_by) job.first_start = std::min(job.first_start, *tasks[i].start_by);
      job.queues.push_back(tasks[i].queue);
      bytes += bytes_of(tasks[i]);
    }
  }
  const auto problems = need_queues(ask, std::move(unknown), {});
  call<std::vector<Put>>(
      ask,
      [ask, tasks = std::move(tasks)](Store& store, TimePoint at) -> Result<std::vector<Put>> {
        if (auto good = check_all_seen(store, ask, tasks); !good) {
          return std::unexpected(std::move(good.error()));
        }
        return store.put_all(tasks, at);
      },
      [this, problems, job = std::move(job),
       done = std::move(done)](Result<std::vector<Put>> puts) mutable {
        if (!puts) {
          Recorder(books_, clock_.now()).refused(puts.error().code);
          forget_gone(books_, job, puts.error());
          return done(std::unexpected(problems ? missing_queue(*problems, job.queues, puts.error())
                                               : std::move(puts.error())));
        }
        std::vector<Result<Put>> results(puts->begin(), puts->end());
        record_put(books_, results, job, clock_.now());
        for (Put& put : *puts) put.queue.clear();
        if (job.first_start != never) runner_.wake_at(sweeper_, job.first_start);
        tell_children();
        done(std::move(puts));
      },
      bytes);
}

}  // namespace millrace
