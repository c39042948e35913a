#include "api/wire/answers.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "api/wire/beat.h"
#include "api/wire/text_reader.h"
#include "api/wire/views.h"
#include "core/transition.h"

namespace millrace::wire {

// ---- What answers are made of ----

// An error inside an answer, and as an answer of its own.
struct ErrorAnswer {
  std::string code = {};
  std::string message = {};
  std::string field = {};
  std::optional<Duration> retry_after = std::nullopt;
};
void fields(A<ErrorAnswer> auto& of, auto& visit) {
  visit("code", required(of.code)), visit("message", of.message);
  visit("field", of.field), visit("retry_after_ms", of.retry_after);
}
struct ProblemAnswer {
  ErrorAnswer error = {};
};
void fields(A<ProblemAnswer> auto& of, auto& visit) {
  visit("code", required(of.error.code)), visit("detail", of.error.message);
  visit("field", of.error.field), visit("retry_after_ms", of.error.retry_after);
}

// Each item of a list is the value or an error.
struct PutAnswer {
  TaskId id = {};
  TaskNumber number = {};
  std::optional<TaskState> state = std::nullopt;
  bool existing = false;
  bool replaced = false;
  std::optional<ErrorAnswer> error = std::nullopt;
};
void fields(A<PutAnswer> auto& of, auto& visit) {
  visit("id", of.id), visit("number", of.number), visit("state", of.state);
  visit("existing", of.existing), visit("replaced", of.replaced), visit("error", of.error);
}
struct PutsAnswer {
  std::vector<PutAnswer> tasks = {};
};
void fields(A<PutsAnswer> auto& of, auto& visit) {
  visit("tasks", required(of.tasks));
}

struct SettledAnswer {
  std::optional<SettleStatus> status = std::nullopt;
  TaskState state = TaskState::completed;
  std::optional<ErrorAnswer> error = std::nullopt;
};
void fields(A<SettledAnswer> auto& of, auto& visit) {
  visit("status", of.status), visit("state", of.state), visit("error", of.error);
}
struct ExtendedAnswer {
  std::optional<TimePoint> until = std::nullopt;
  bool cancel_requested = false;
  std::optional<ErrorAnswer> error = std::nullopt;
};
void fields(A<ExtendedAnswer> auto& of, auto& visit) {
  visit("until", of.until), visit("cancel_requested", of.cancel_requested);
  visit("error", of.error);
}
struct WorkAnswer {
  std::vector<SettledAnswer> settled = {};
  std::vector<ExtendedAnswer> extended = {};
  std::vector<Lease> tasks = {};
  std::optional<ErrorAnswer> take_error = std::nullopt;
};
void fields(A<WorkAnswer> auto& of, auto& visit) {
  visit("settled", of.settled), visit("extended", of.extended);
  visit("tasks", required(of.tasks)), visit("take_error", of.take_error);
}

struct PageAnswer {
  std::vector<Task> tasks = {};
  std::optional<std::string> next = std::nullopt;
  std::uint32_t looked_at = 0;
};
void fields(A<PageAnswer> auto& of, auto& visit) {
  visit("tasks", required(of.tasks)), visit("next", of.next), visit("looked_at", of.looked_at);
}
struct StateAnswer {
  TaskState state = TaskState::created;
};
void fields(A<StateAnswer> auto& of, auto& visit) {
  visit("state", required(of.state));
}
struct RemovedAnswer {
  std::uint64_t removed = 0;
};
void fields(A<RemovedAnswer> auto& of, auto& visit) {
  visit("removed", required(of.removed));
}

// The statistics of a queue.
struct ByState {
  std::array<std::uint64_t, state_count> counts = {};
};
void fields(A<ByState> auto& of, auto& visit) {
  for (std::size_t i = 0; i < state_count; ++i) visit(name_of(TaskState(i)), of.counts[i]);
}
struct ByPriority {
  std::array<std::uint64_t, priority_count> counts = {};
};
void fields(A<ByPriority> auto& of, auto& visit) {
  constexpr std::string_view digits = "0123456789";
  for (std::size_t i = 0; i < priority_count; ++i) visit(digits.substr(i, 1), of.counts[i]);
}
struct RatesAnswer {
  double put = 0;
  double take = 0;
  double finish = 0;
  double fail = 0;
  double retry = 0;
};
void fields(A<RatesAnswer> auto& of, auto& visit) {
  visit("put", of.put), visit("take", of.take), visit("finish", of.finish);
  visit("fail", of.fail), visit("retry", of.retry);
}
void fields(A<QueueStats> auto& of, auto& visit) {
  visit("since", of.since), visit("put", of.put), visit("taken", of.taken);
  visit("completed", of.completed), visit("failed", of.failed), visit("retried", of.retried);
  visit("snoozed", of.snoozed), visit("given_back", of.given_back), visit("lost", of.lost);
  visit("cancelled", of.cancelled);
}
struct StatsAnswer {
  std::string queue = {};
  double mean_run_ms = 0;
  double mean_wait_ms = 0;
  ByState states = {};
  ByPriority priorities = {};
  std::optional<TimePoint> oldest = std::nullopt;
  RatesAnswer rates = {};
  QueueStats totals = {};
  std::optional<TimePoint> last_asked = std::nullopt;
};
void fields(A<StatsAnswer> auto& of, auto& visit) {
  visit("queue", required(of.queue)), visit("mean_run_ms", of.mean_run_ms);
  visit("mean_wait_ms", of.mean_wait_ms), visit("states", required(of.states));
  visit("priorities", of.priorities), visit("oldest", of.oldest), visit("rates", of.rates);
  visit("totals", of.totals), visit("last_asked", of.last_asked);
}
struct QueuesAnswer {
  std::vector<Queue> queues = {};
};
void fields(A<QueuesAnswer> auto& of, auto& visit) {
  visit("queues", required(of.queues));
}
struct AllStatsAnswer {
  std::vector<StatsAnswer> queues = {};
};
void fields(A<AllStatsAnswer> auto& of, auto& visit) {
  visit("queues", required(of.queues));
}

struct SchedulesAnswer {
  std::vector<Schedule> schedules = {};
};
void fields(A<SchedulesAnswer> auto& of, auto& visit) {
  visit("schedules", required(of.schedules));
}
struct WorkersAnswer {
  std::vector<WorkerView> workers = {};
};
void fields(A<WorkersAnswer> auto& of, auto& visit) {
  visit("workers", required(of.workers));
}
void fields(A<ImportedCounts> auto& of, auto& visit) {
  visit("queues", of.queues), visit("schedules", of.schedules);
  visit("memos", of.memos), visit("tasks", of.tasks), visit("groups", of.groups);
}
void fields(A<Imported> auto& of, auto& visit) {
  visit("added", required(of.added)), visit("existing", required(of.existing));
  visit("key_held", of.key_held), visit("expired", of.expired);
}
struct LineError {
  ErrorAnswer error = {};
  std::uint64_t line = 0;
};
void fields(A<LineError> auto& of, auto& visit) {
  fields(of.error, visit), visit("line", of.line);
}
struct ImportAnswer {
  Imported imported = {};
  std::optional<LineError> error = std::nullopt;
};
void fields(A<ImportAnswer> auto& of, auto& visit) {
  visit("imported", required(of.imported)), visit("error", of.error);
}
void fields(A<ServerInfo> auto& of, auto& visit) {
  visit("version", required(of.version)), visit("store", required(of.store));
  visit("started_at", of.started_at), visit("now", of.now), visit("connections", of.connections);
}

namespace {

// An answer that has one member only.
template <class Answer, class T>
Result<T> read_member(std::string_view text, T Answer::* member) {
  auto answer = read_answer<Answer>(text);
  if (!answer) return std::unexpected(std::move(answer.error()));
  return std::move((*answer).*member);
}

std::unexpected<Error> no_answer(std::string_view what) {
  return fail(ErrorCode::unavailable, fmt::format("the answer cannot be read: {}", what));
}

Error error_of(ErrorAnswer&& answer) {
  Error error{.code = ErrorCode::invalid, .message = std::move(answer.message)};
  error.field = std::move(answer.field);
  for (int code = 1; code <= static_cast<int>(ErrorCode::internal); ++code) {
    if (answer.code == name_of(ErrorCode(code))) error.code = ErrorCode(code);
  }
  if (answer.code == "no_space") error.code = ErrorCode::limited, error.no_space = true;
  if (answer.code == "limit_reached") error.code = ErrorCode::limited, error.lasting = true;
  if (answer.code == "starting" || answer.code == "stopping") error.code = ErrorCode::unavailable;
  if (answer.code == "not_completed") error.code = ErrorCode::conflict;
  if (error.code == ErrorCode::limited) error.retry_after = answer.retry_after;
  if (error.message.empty()) error.message = fmt::format("the server says {}", answer.code);
  return error;
}

Result<Put> as_put(PutAnswer&& answer) {
  if (answer.error) return std::unexpected(error_of(std::move(*answer.error)));
  if (answer.id.value.is_nil()) return no_answer("a put has no id");
  return Put{.id = answer.id,
             .number = answer.number,
             .state = answer.state,
             .existing = answer.existing,
             .replaced = answer.replaced};
}

QueueView as_view(Queue&& queue, const StatsAnswer& stats) {
  QueueView view{.queue = std::move(queue), .stats = stats.totals};
  view.counts.queue = view.queue.settings.name;
  view.counts.number = view.queue.settings.number;
  view.counts.oldest = stats.oldest;
  for (std::size_t state = 0; state < state_count; ++state) {
    view.counts.by[state][default_priority] = stats.states.counts[state];
  }
  view.counts.by[static_cast<std::size_t>(TaskState::queued)] = stats.priorities.counts;
  view.stats.mean_run_seconds = stats.mean_run_ms / 1000;
  view.stats.mean_wait_seconds = stats.mean_wait_ms / 1000;
  view.stats.put_rate = stats.rates.put;
  view.stats.take_rate = stats.rates.take;
  view.stats.finish_rate = stats.rates.finish;
  view.stats.fail_rate = stats.rates.fail;
  view.stats.retry_rate = stats.rates.retry;
  view.stats.last_asked = stats.last_asked;
  return view;
}

}  // namespace

std::optional<Error> problem_from(std::string_view text) {
  auto read = read_text<ProblemAnswer>(text, {}, Source::answer);
  if (!read) return std::nullopt;
  return error_of(std::move(read->error));
}

Result<std::vector<Result<Put>>> puts_from(std::string_view text, std::size_t count) {
  auto answer = read_answer<PutsAnswer>(text);
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (answer->tasks.size() != count) {
    return no_answer(
        fmt::format("{} tasks were put, but the answer covers {}", count, answer->tasks.size()));
  }
  std::vector<Result<Put>> puts;
  puts.reserve(count);
  for (PutAnswer& each : answer->tasks) puts.push_back(as_put(std::move(each)));
  return puts;
}

Result<Put> put_from(std::string_view text) {
  auto answer = read_answer<PutAnswer>(text);
  if (!answer) return std::unexpected(std::move(answer.error()));
  return as_put(std::move(*answer));
}

Result<WorkResult> work_from(std::string_view text, const WorkCounts& asked) {
  auto answer = read_answer<WorkAnswer>(text);
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (answer->settled.size() != asked.reports || answer->extended.size() != asked.extensions) {
    return no_answer("it does not cover everything that was settled and extended");
  }
  WorkResult result;
  result.settled.reserve(asked.reports);
  for (SettledAnswer& each : answer->settled) {
    if (each.error) {
      result.settled.emplace_back(std::unexpected(error_of(std::move(*each.error))));
    } else if (each.status) {
      result.settled.emplace_back(Settled{.status = *each.status, .state = each.state});
    } else {
      return no_answer("a settlement has no status");
    }
  }
  result.extended.reserve(asked.extensions);
  for (ExtendedAnswer& each : answer->extended) {
    if (each.error) {
      result.extended.emplace_back(std::unexpected(error_of(std::move(*each.error))));
    } else if (each.until) {
      result.extended.emplace_back(
          Extended{.until = *each.until, .cancel_requested = each.cancel_requested});
    } else {
      return no_answer("an extension has no end");
    }
  }
  if (!asked.take) return result;
  if (answer->take_error) {
    result.taken.emplace_back(std::unexpected(error_of(std::move(*answer->take_error))));
  } else {
    result.taken.emplace_back(std::move(answer->tasks));
  }
  return result;
}

Result<WorkResult> leases_from(std::string_view text) {
  auto answer = read_answer<WorkAnswer>(text);
  if (!answer) return std::unexpected(std::move(answer.error()));
  WorkResult result;
  result.taken.emplace_back(std::move(answer->tasks));
  return result;
}

Result<Task> task_from(std::string_view text) {
  return read_answer<Task>(text);
}

Result<TaskPage> page_from(std::string_view text) {
  auto answer = read_answer<PageAnswer>(text);
  if (!answer) return std::unexpected(std::move(answer.error()));
  TaskPage page{.tasks = std::move(answer->tasks), .looked_at = answer->looked_at};
  if (!answer->next) return page;
  const std::string& next = *answer->next;
  TaskNumber number;
  const auto [end, error] = std::from_chars(next.data(), next.data() + next.size(), number.value);
  if (error != std::errc{} || end != next.data() + next.size()) {
    return no_answer("next is not a number");
  }
  page.next = number;
  return page;
}

Result<Explanation> explanation_from(std::string_view text) {
  return read_answer<Explanation>(text);
}

Result<Parents> parents_from(std::string_view text) {
  return read_answer<Parents>(text);
}

Result<std::vector<Put>> all_puts_from(std::string_view text, std::size_t count) {
  auto puts = puts_from(text, count);
  if (!puts) return std::unexpected(std::move(puts.error()));
  std::vector<Put> all;
  all.reserve(count);
  for (Result<Put>& put : *puts) {
    if (!put) return std::unexpected(std::move(put.error()));
    all.push_back(std::move(*put));
  }
  return all;
}

Result<TaskState> state_from(std::string_view text) {
  return read_member(text, &StateAnswer::state);
}

Result<Handled> handled_from(std::string_view text) {
  return read_answer<Handled>(text);
}

Result<Queue> queue_from(std::string_view text) {
  return read_answer<Queue>(text);
}

Result<std::vector<QueueView>> queue_view_from(std::string_view view, std::string_view stats) {
  auto queue = read_answer<Queue>(view);
  if (!queue) return std::unexpected(std::move(queue.error()));
  auto all = read_answer<StatsAnswer>(stats);
  if (!all) return std::unexpected(std::move(all.error()));
  std::vector<QueueView> views;
  views.push_back(as_view(std::move(*queue), *all));
  return views;
}

Result<std::vector<QueueView>> queue_views_from(std::string_view views, std::string_view stats) {
  auto queues = read_answer<QueuesAnswer>(views);
  if (!queues) return std::unexpected(std::move(queues.error()));
  auto all = read_answer<AllStatsAnswer>(stats);
  if (!all) return std::unexpected(std::move(all.error()));
  std::ranges::sort(all->queues, {}, &StatsAnswer::queue);
  std::vector<QueueView> result;
  for (Queue& queue : queues->queues) {
    const auto found =
        std::ranges::lower_bound(all->queues, queue.settings.name, {}, &StatsAnswer::queue);
    // A queue that was created or removed between the two answers is in one of them only.
    if (found == all->queues.end() || found->queue != queue.settings.name) continue;
    result.push_back(as_view(std::move(queue), *found));
  }
  return result;
}

Result<std::uint64_t> removed_from(std::string_view text) {
  return read_member(text, &RemovedAnswer::removed);
}

Result<Schedule> schedule_from(std::string_view text) {
  return read_answer<Schedule>(text);
}

Result<std::vector<Schedule>> schedules_from(std::string_view text) {
  return read_member(text, &SchedulesAnswer::schedules);
}

Result<std::vector<WorkerView>> workers_from(std::string_view text) {
  auto workers = read_member(text, &WorkersAnswer::workers);
  if (!workers) return workers;
  for (WorkerView& worker : *workers) {
    if (worker.report) worker.report->worker = worker.name;
  }
  return workers;
}

Result<Instructions> instructions_from(std::string_view text) {
  return read_answer<Instructions>(text);
}

Result<Imported> imported_from(std::string_view text) {
  auto answer = read_answer<ImportAnswer>(text);
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (answer->error) {
    answer->imported.line = answer->error->line;
    answer->imported.error = error_of(std::move(answer->error->error));
  }
  return std::move(answer->imported);
}

Result<ServerInfo> server_from(std::string_view text) {
  return read_answer<ServerInfo>(text);
}

}  // namespace millrace::wire
