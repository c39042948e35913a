// Workers of LocalBroker: who they are, and their instructions.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "broker/local_broker.h"
#include "core/check.h"
#include "core/clip.h"
#include "core/limits.h"
#include "core/quote.h"
#include "core/validate.h"

namespace millrace {
namespace {

constexpr std::size_t shown_error = 500;

Result<void> check_numbers(const QueueReport& queue) {
  for (const auto& [what, number] :
       {std::pair{"processors", queue.processors}, std::pair{"most", queue.most},
        std::pair{"busy", queue.busy}}) {
    if (auto good = check::number(what, number, 0, limits::max_processors); !good) return good;
  }
  return check::duration({"busy time", "busy_ms"}, queue.busy_time, Duration::zero(),
                         Duration::max());
}

Result<void> check_beat(const Ask& ask, const WorkerReport& report) {
  if (report.worker.empty())
    return fail(ErrorCode::invalid, "a beat needs the worker's name", "name");
  if (auto good = check::text({"worker", "name"}, report.worker, limits::max_label); !good)
    return good;
  if (!ask.internal && is_internal(report.worker)) {
    return fail(
        ErrorCode::invalid,
        fmt::format("worker {} begins with $, which is reserved for workers inside the server",
                    report.worker),
        "name");
  }
  if (auto good = check::number("processors", report.processors, 0, limits::max_processors);
      !good) {
    return good;
  }
  if (auto good = check::count("queues", report.queues.size(), limits::max_batch); !good) {
    return good;
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < report.queues.size(); ++i) {
    const QueueReport& queue = report.queues[i];
    auto good = validate_name({"queue name", "queue"}, queue.queue, ask.internal);
    if (good && !names.insert(queue.queue).second) {
      good = fail(ErrorCode::invalid,
                  fmt::format("queue {} is reported twice; once is enough", in_quotes(queue.queue)),
                  "queue");
    }
    if (good) good = check_numbers(queue);
    if (!good) return inside(fmt::format("queues[{}]", i), std::move(good));
  }
  return {};
}

// A worker of internal queues only: the server's own, which no operator has started.
bool is_own(const WorkerView& worker) {
  if (!is_internal(worker.name)) return false;
  const auto internal = [](const auto& queue) { return is_internal(queue); };
  if (!std::ranges::all_of(worker.queues, internal)) return false;
  return !worker.report ||
         std::ranges::all_of(worker.report->queues, internal, &QueueReport::queue);
}

}  // namespace

void LocalBroker::workers(Ask /*ask*/, Completion<std::vector<WorkerView>> done) {
  auto workers = books_.leases.workers();
  std::erase_if(workers, is_own);
  auto assigned = manager_.assignments();
  for (WorkerView& worker : workers) {
    if (const auto found = assigned.find(worker.name); found != assigned.end()) {
      worker.assignments = std::move(found->second);
    }
  }
  done(std::move(workers));
}

void LocalBroker::beat(Ask ask, WorkerReport report, Completion<Instructions> done) {
  if (auto good = check_beat(ask, report); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  for (QueueReport& queue : report.queues) {
    queue.last_error = clip(std::move(queue.last_error), shown_error);
  }
  const TimePoint now = clock_.now();
  if (!LeaseBook::Writing(books_.leases).may_use(report.worker, ask.owner, now)) {
    return done(fail(ErrorCode::conflict,
                     fmt::format("another key uses the name {} for its worker; give this worker "
                                 "another name",
                                 in_quotes(report.worker))));
  }
  Instructions instructions = manager_.instructions(report);
  LeaseBook::Writing(books_.leases).reported(std::move(report), now, ask.owner);
  done(std::move(instructions));
}

}  // namespace millrace
