#include "broker/manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/mutex.h"
#include "store/store.h"

namespace millrace {
namespace {

// A rate limits processors, too: more of them than the rate keeps busy are of no use.
std::optional<std::uint32_t> most_of(const QueueSettings& settings, double service) {
  std::optional<std::uint32_t> most = settings.max_concurrent;
  if (!settings.process_rate || service <= 0) return most;
  const double seconds = std::chrono::duration<double>(settings.process_rate->per).count();
  const double busy = std::ceil(settings.process_rate->max / seconds * service);
  if (busy >= most.value_or(1'000'000)) return most;
  return std::max(1U, static_cast<std::uint32_t>(busy));
}

}  // namespace

// How long tasks take, from what workers have done since they last reported.
void Manager::learn(const std::vector<WorkerReport>& reports) {
  std::map<std::string_view, std::pair<double, std::uint64_t>> done;  // seconds, tasks
  std::set<std::string_view> names;
  for (const WorkerReport& report : reports) {
    names.insert(report.worker);
    auto& sums = sums_[report.worker];
    std::map<std::string, Sum, std::less<>> now;
    for (const QueueReport& queue : report.queues) {
      const auto before = sums.find(queue.queue);
      Sum last = before == sums.end() ? Sum{} : before->second;
      // The worker was restarted.
      if (last.handled > queue.handled || last.busy_time > queue.busy_time) last = {};
      auto& [seconds, tasks] = done[queue.queue];
      seconds += std::chrono::duration<double>(queue.busy_time - last.busy_time).count();
      tasks += queue.handled - last.handled;
      now[queue.queue] = {queue.handled, queue.busy_time};
    }
    sums = std::move(now);
  }
  std::erase_if(sums_, [&](const auto& entry) { return !names.contains(entry.first); });
  for (const auto& [queue, sum] : done) {
    known_.try_emplace(std::string(queue)).first->second.service.add(sum.first, sum.second);
  }
}

QueueLoad Manager::load_of(const QueueCounts& counts, KnownQueue& past, TimePoint now) const {
  QueueLoad load{.queue = counts.queue, .ready = counts.ready()};
  const QueueStats stats = books_.metrics.of(counts.queue, now);
  // What became ready was taken, or is there now.
  const std::uint64_t before = past.ready + past.taken;
  const std::uint64_t after = load.ready + stats.taken;
  const double seconds = std::chrono::duration<double>(now - last_round_).count();
  if (past.known) past.arrivals.add(after > before ? after - before : 0, seconds);
  past.ready = load.ready;
  past.taken = stats.taken;
  past.known = true;
  load.arrivals = past.arrivals.value();
  load.service = past.service.value() > 0 ? past.service.value() : stats.mean_run_seconds;
  if (counts.oldest && *counts.oldest < now) load.oldest = now - *counts.oldest;
  const QueueBook::Reading book(books_.queues);
  const Queue* queue = book.find(std::string_view(counts.queue));
  if (queue == nullptr) {  // being removed, or not known here
    load.paused = true;
    return load;
  }
  const QueueSettings& settings = queue->settings;
  load.weight = std::max(1U, weight_of(settings));
  load.most = most_of(settings, load.service);
  load.paused = !settings.active || (settings.paused_until && *settings.paused_until > now);
  return load;
}

std::vector<QueueLoad> Manager::loads(const std::vector<QueueCounts>& counts, TimePoint now) {
  for (auto& [name, past] : known_) past.there = false;
  std::vector<QueueLoad> loads;
  for (const QueueCounts& each : counts) {
    KnownQueue& past = known_.try_emplace(each.queue).first->second;
    past.there = true;
    loads.push_back(load_of(each, past, now));
  }
  std::erase_if(known_, [](const auto& entry) { return !entry.second.there; });
  return loads;
}

void Manager::assign(const std::vector<WorkerReport>& reports, const AssignmentPlan& plan) {
  const Lock lock(mutex_);
  assigned_.clear();
  for (std::size_t w = 0; w < reports.size(); ++w) {
    auto& assigned = assigned_[reports[w].worker];
    for (std::size_t l = 0; l < reports[w].queues.size(); ++l) {
      assigned.push_back({reports[w].queues[l].queue, plan.most[w][l]});
    }
  }
  desired_ = plan.desired;
}

Result<TimePoint> Manager::run_once(Store& store, TimePoint now) {
  auto counts = store.counts(std::nullopt, now);
  if (!counts) return std::unexpected(std::move(counts.error()));
  auto reports = books_.leases.reports(now - silence);
  std::erase_if(reports, [](const WorkerReport& report) { return report.stopping; });
  learn(reports);
  std::vector<QueueLoad> queues = loads(*counts, now);
  last_round_ = now;
  Names places;
  for (std::size_t q = 0; q < queues.size(); ++q) places.emplace(queues[q].queue, q);
  std::vector<WorkerCapacity> workers;
  std::uint64_t processors = 0;
  for (const WorkerReport& report : reports) {
    WorkerCapacity& worker = workers.emplace_back(WorkerCapacity{.processors = report.processors});
    processors += report.processors;
    for (const QueueReport& queue : report.queues) {
      auto place = places.find(queue.queue);
      if (place == places.end()) {  // not created yet
        place = places.emplace(queue.queue, queues.size()).first;
        queues.push_back({.queue = queue.queue});
      }
      worker.shares.push_back({place->second, queue.most, queue.processors});
    }
  }
  const AssignmentPlan plan = plan_assignment(queues, workers);
  if (plan.scarce != scarce_) {
    books_.log()(LogLevel::info,
                 plan.scarce
                     ? fmt::format("more to do than {} processors can; {} would keep waits short",
                                   processors, plan.desired)
                     : fmt::format("{} processors are enough again", processors));
    scarce_ = plan.scarce;
  }
  assign(reports, plan);
  return later(now, round_every);
}

Instructions Manager::instructions(const WorkerReport& report) {
  const Lock lock(mutex_);
  const auto found = assigned_.find(report.worker);
  if (found == assigned_.end() || report.stopping) return {};
  // Only about the queues in the report: another worker that uses the name learns nothing more.
  std::vector<Assignment> assignments;
  bool differs = false;
  for (const QueueReport& queue : report.queues) {
    const auto assigned = std::ranges::find(found->second, queue.queue, &Assignment::queue);
    if (assigned == found->second.end()) continue;  // new: the next round will know it
    differs = differs || assigned->processors != queue.processors;
    assignments.push_back(*assigned);
  }
  if (!differs) return {};
  return {.assignments = std::move(assignments)};
}

std::map<std::string, std::vector<Assignment>> Manager::assignments() {
  const Lock lock(mutex_);
  return assigned_;
}

std::uint64_t Manager::desired() {
  const Lock lock(mutex_);
  return desired_;
}

}  // namespace millrace
