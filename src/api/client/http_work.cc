// Put and work: the most frequent verbs, in batches that fit into a request.
#include <fmt/format.h>
#include <algorithm>
#include <span>
#include <utility>

#include "api/client/http_broker.h"
#include "api/wire/requests.h"
#include "api/wire/work.h"
#include "core/limits.h"
#include "core/mutex.h"

namespace millrace {
namespace {

// Most bytes of payloads and results per request. As JSON they can be six times as long, and a
// server takes 8 MiB.
constexpr std::size_t most_request_bytes = 1 << 20;

// How often a put is repeated while no answer comes: the ids make that safe.
constexpr unsigned put_repeats = 2;

std::size_t bytes_of(const NewTask& task) {
  return 256 + task.payload.size() + task.metadata.size();
}

std::size_t bytes_of(const TaskError& error) {
  return error.message.size() + error.details.size() + error.stack.size();
}

std::size_t bytes_of(const Report& report) {
  std::size_t bytes = 128;
  if (const auto* done = std::get_if<Done>(&report.outcome)) bytes += done->result.size();
  if (const auto* failed = std::get_if<Failed>(&report.outcome)) bytes += bytes_of(failed->error);
  if (const auto* retry = std::get_if<RetryAt>(&report.outcome)) bytes += bytes_of(retry->error);
  if (const auto* cancel = std::get_if<Cancel>(&report.outcome)) bytes += cancel->reason.size();
  for (const NewTask& task : report.follow_ups) bytes += bytes_of(task);
  if (report.checkpoint) bytes += report.checkpoint->size();
  return bytes;
}

std::size_t bytes_of(const Extension& extension) {
  std::size_t bytes = 128;
  for (const std::string& line : extension.log) bytes += line.size();
  if (extension.checkpoint) bytes += extension.checkpoint->size();
  return bytes;
}

// How many items, from the first on, go into one request: at least one.
template <class T>
std::size_t fitting(std::span<const T> items, std::size_t& bytes) {
  std::size_t count = 0;
  while (count < items.size() && count < limits::max_batch) {
    bytes += bytes_of(items[count]);
    if (bytes > most_request_bytes && count > 0) break;
    ++count;
  }
  return count;
}

bool brings_tasks(const WorkResult& result) {
  return std::ranges::any_of(result.taken,
                             [](const auto& taken) { return taken && !taken->empty(); });
}

}  // namespace

// ---- Put ----

struct HttpBroker::PutJob {
  Ask ask = {};
  std::vector<NewTask> tasks = {};
  std::vector<bool> made = {};  // the id is ours
  Completion<std::vector<Result<Put>>> done = {};
  std::vector<Result<Put>> results = {};
};

void HttpBroker::put(Ask ask, std::vector<NewTask> tasks,
                     Completion<std::vector<Result<Put>>> done) {
  if (tasks.empty()) return done(std::vector<Result<Put>>{});
  auto job = std::make_shared<PutJob>();
  job->ask = ask, job->done = std::move(done);
  job->made.resize(tasks.size());
  {
    const TimePoint moment = clock_.now();
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      job->made[i] = tasks[i].id.value.is_nil();
      if (job->made[i]) tasks[i].id = {ids_.next(moment)};
    }
  }
  job->tasks = std::move(tasks);
  next_put(std::move(job));
}

void HttpBroker::next_put(std::shared_ptr<PutJob> job) {
  const std::size_t from = job->results.size();
  if (from == job->tasks.size()) return job->done(std::move(job->results));
  const auto left = std::span<const NewTask>(job->tasks).subspan(from);
  std::size_t bytes = 0;
  const auto part = left.first(fitting(left, bytes));
  Request request{.method = "POST",
                  .target = "/v1/tasks",
                  .body = wire::put_text(part),
                  .repeats = put_repeats};
  const Ask ask = job->ask;
  const auto read = [count = part.size()](std::string_view text) {
    return wire::puts_from(text, count);
  };
  auto then = [this, job = std::move(job), from](Result<std::vector<Result<Put>>> puts) mutable {
    if (!puts && from == 0) return job->done(std::unexpected(std::move(puts.error())));
    if (!puts) {
      // Earlier requests have put their tasks: those keep their own results.
      job->results.resize(job->tasks.size(), std::unexpected(puts.error()));
      return job->done(std::move(job->results));
    }
    for (Result<Put>& put : *puts) {
      const std::size_t place = job->results.size();
      // If an id that we made exists already, our own first request put it, and its answer was
      // lost.
      if (put && job->made[place] && put->id == job->tasks[place].id) put->existing = false;
      job->results.push_back(std::move(put));
    }
    next_put(std::move(job));
  };
  call<std::vector<Result<Put>>>(ask, std::move(request), read, std::move(then));
}

// One request, whatever its size: only so it is all or none.
void HttpBroker::put_all(Ask ask, std::vector<NewTask> tasks, Completion<std::vector<Put>> done) {
  std::vector<bool> made(tasks.size());
  {
    const TimePoint moment = clock_.now();
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      made[i] = tasks[i].id.value.is_nil();
      if (made[i]) tasks[i].id = {ids_.next(moment)};
    }
  }
  Request request{.method = "POST",
                  .target = "/v1/tasks",
                  .body = wire::put_all_text(tasks),
                  .repeats = put_repeats};
  const auto read = [count = tasks.size()](std::string_view text) {
    return wire::all_puts_from(text, count);
  };
  auto then = [made = std::move(made), tasks = std::move(tasks),
               done = std::move(done)](Result<std::vector<Put>> puts) mutable {
    for (std::size_t i = 0; puts && i < made.size(); ++i) {
      if (made[i] && (*puts)[i].id == tasks[i].id) (*puts)[i].existing = false;
    }
    done(std::move(puts));
  };
  call<std::vector<Put>>(ask, std::move(request), read, std::move(then));
}

// ---- Work --------------------------------------------------------------------------------------

struct HttpBroker::WorkJob {
  Ask ask = {};
  WorkOrder order = {};
  Completion<WorkResult> done = {};
  WorkResult result = {};
  bool takes_apart = false;  // not with settlements and heartbeats in one request
};

void HttpBroker::work(Ask ask, WorkOrder order, Completion<WorkResult> done) {
  auto job = std::make_shared<WorkJob>();
  job->ask = ask, job->order = std::move(order), job->done = std::move(done);
  if (job->order.reports.empty() && job->order.extensions.empty() && job->order.takes.empty()) {
    return job->done(WorkResult{});
  }
  next_work(std::move(job));
}

// Settles, extends and takes as much of the order as one request can hold.
void HttpBroker::next_work(std::shared_ptr<WorkJob> job) {
  const WorkOrder& order = job->order;
  WorkResult& so_far = job->result;
  const auto reports = std::span<const Report>(order.reports).subspan(so_far.settled.size());
  const auto extensions =
      std::span<const Extension>(order.extensions).subspan(so_far.extended.size());
  std::size_t bytes = 0;
  const auto settled = reports.first(fitting(reports, bytes));
  const bool all_settled = settled.size() == reports.size();
  const auto extended =
      extensions.first(all_settled && bytes <= most_request_bytes ? fitting(extensions, bytes) : 0);
  const bool all_extended = extended.size() == extensions.size();
  const std::size_t taken = so_far.taken.size();
  const bool alone = settled.empty() && extended.empty();
  const bool takes =
      all_settled && all_extended && taken < order.takes.size() && (alone || !job->takes_apart);
  if (alone && !takes) return job->done(std::move(so_far));

  // Only orders with nothing but takes wait, and of several only the last.
  const bool waits = order.reports.empty() && order.extensions.empty() && takes &&
                     taken + 1 == order.takes.size() && !brings_tasks(so_far);
  const Duration wait = waits ? std::min(order.wait, wire::max_wait) : Duration{};
  Request request{
      .method = "POST", .target = std::string(work_target), .wait = wait, .as_it_is = true};
  request.waits = order.wait > Duration{};  // all of the order, whichever part it is that waits
  if (order.reports.empty() && order.takes.empty()) request.timeout = options_.heartbeat_timeout;
  request.body = wire::work_text(settled, extended, takes ? &order.takes[taken] : nullptr, wait);
  const wire::WorkCounts asked{
      .reports = settled.size(), .extensions = extended.size(), .take = takes};
  const Ask ask = job->ask;
  auto then = [this, job = std::move(job), asked, alone](Result<Reply> reply) mutable {
    bool denied = false;
    reply = judged(std::move(reply), &denied);
    auto part = reply ? wire::work_from(reply->body, asked)
                      : Result<WorkResult>(std::unexpected(std::move(reply.error())));
    WorkResult& result = job->result;
    if (!part && !alone && denied) {
      // A queue that the key may not take from must not keep what has ended from being stored.
      if (asked.take) return job->takes_apart = true, next_work(std::move(job));
      // The reports stay valid: the worker keeps them and tries again.
      part.error().code = ErrorCode::unavailable;
    }
    if (!part) {
      const bool lost = part.error().code == ErrorCode::unavailable;
      if (!alone || (lost && result.taken.empty())) {
        return job->done(std::unexpected(std::move(part.error())));
      }
      // A refused take does not prevent the others; tasks that came before a lost answer must not
      // be lost.
      const std::size_t answered = lost ? job->order.takes.size() : result.taken.size() + 1;
      result.taken.resize(answered, std::unexpected(part.error()));
      return next_work(std::move(job));
    }
    std::ranges::move(part->settled, std::back_inserter(result.settled));
    std::ranges::move(part->extended, std::back_inserter(result.extended));
    std::ranges::move(part->taken, std::back_inserter(result.taken));
    next_work(std::move(job));
  };
  send(ask, std::move(request), std::move(then));
}

void HttpBroker::give_back(const WorkResult& result) {
  std::vector<Report> reports;
  for (const auto& taken : result.taken) {
    if (!taken) continue;
    for (const Lease& lease : *taken) {
      reports.push_back({.id = lease.id, .token = lease.token, .outcome = GiveBack{}});
    }
  }
  if (reports.empty()) return;
  // If the server does not hear of it, the leases end by themselves.
  work({}, {.reports = std::move(reports)}, [](const Result<WorkResult>&) {});
}

void HttpBroker::give_back_unread(std::string_view answer) {
  const auto result = wire::leases_from(answer);
  if (result) give_back(*result);
}

}  // namespace millrace
