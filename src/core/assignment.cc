#include "core/assignment.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

namespace millrace {
namespace {

// The assumed duration of tasks of which none has ended yet.
constexpr double unknown_service = 0.1;
// Tasks that take this many times as long as others must leave a processor to them.
constexpr double much_slower = 4;
// Scarcity ends when no queue would have to wait for this share of the patience.
constexpr double less_patience = 0.2;
// How long a queue must have had waiting tasks, in seconds.
constexpr double busy_for = 2;
// Processors are shared out in at most this many pieces, so that a round takes bounded time.
constexpr std::uint64_t most_units = 4096;

double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// A queue while processors are shared out.
struct Need {
  bool wanted = false;      // has work, or will have some
  bool active = false;      // and a worker can do it
  double service = 0;       // seconds
  double load = 0;          // processors that arriving tasks keep busy
  double horizon = 0;       // seconds
  double work = 0;          // processor-seconds until then
  std::uint64_t limit = 0;  // processors that may work on it
  std::uint64_t given = 0;
};

// A processor of a worker, as a queue sees it.
struct Spot {
  std::size_t worker = 0;
  std::size_t share = 0;
};

class Planner {
 public:
  Planner(const std::vector<QueueLoad>& queues, const std::vector<WorkerCapacity>& workers,
          const AssignmentRules& rules)
      : queues_(queues), workers_(workers), rules_(rules), needs_(queues.size()) {}

  AssignmentPlan plan();

 private:
  void look();
  void share_out();
  bool give(std::size_t queue);
  std::uint64_t desired() const;
  // Whether more processors would help the queue.
  bool must_wait(std::size_t queue) const {
    const Need& need = needs_[queue];
    const auto& most = queues_[queue].most;
    return need.active && wait(queue, need.given) > 0 && (!most || need.given < *most);
  }
  bool is_scarce() const;
  bool was_scarce() const;
  void leave_room(std::size_t worker);
  std::optional<std::size_t> first_of(std::size_t worker) const;
  std::vector<std::uint32_t> scarce_bounds(std::size_t worker) const;

  // How long a task that arrives at the horizon must wait, times the weight: the work left by then,
  // divided among the processors.
  double wait(std::size_t queue, std::uint64_t processors) const {
    const Need& need = needs_[queue];
    if (processors == 0) return std::numeric_limits<double>::infinity();
    const auto all = static_cast<double>(processors);
    return std::max(0.0, need.work - all * need.horizon) * queues_[queue].weight / all;
  }

  const std::vector<QueueLoad>& queues_;
  const std::vector<WorkerCapacity>& workers_;
  const AssignmentRules& rules_;
  std::vector<Need> needs_;
  std::vector<std::vector<Spot>> spots_;
  std::vector<std::uint32_t> free_;                // by worker
  std::vector<std::vector<std::uint32_t>> given_;  // by worker and queue
  std::vector<std::vector<std::uint32_t>> room_;   // the same: bounds while nothing is scarce
  std::uint32_t unit_ = 1;                         // processors that are shared out in one piece
};

void Planner::look() {
  spots_.resize(queues_.size());
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    free_.push_back(workers_[w].processors);
    given_.emplace_back(workers_[w].shares.size());
    for (std::size_t l = 0; l < workers_[w].shares.size(); ++l) {
      const auto& share = workers_[w].shares[l];
      if (share.most == 0 || workers_[w].processors == 0) continue;
      spots_[share.queue].push_back({w, l});
      needs_[share.queue].limit += std::min(share.most, workers_[w].processors);
    }
  }
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    const QueueLoad& load = queues_[q];
    Need& need = needs_[q];
    need.service = load.service > 0 ? load.service : unknown_service;
    if (load.most) need.limit = std::min<std::uint64_t>(need.limit, *load.most);
    need.wanted = !load.paused && (load.ready > 0 || load.arrivals > 0);
    need.active = need.wanted && need.limit > 0;
    need.load = load.arrivals * need.service;
    // No work can be done in less time than a few of its tasks take.
    need.horizon = std::max(in_seconds(rules_.horizon), 3 * need.service);
    need.work = static_cast<double>(load.ready) * need.service + need.load * need.horizon;
  }
  room_.resize(workers_.size());
  for (std::size_t w = 0; w < workers_.size(); ++w) leave_room(w);
  const std::uint64_t all = std::accumulate(free_.begin(), free_.end(), std::uint64_t{0});
  unit_ = static_cast<std::uint32_t>(1 + all / most_units);
}

// Picks a free processor: of a worker that worked on the queue before, else of the worker with most
// free ones.
bool Planner::give(std::size_t queue) {
  const Spot* best = nullptr;
  bool best_stays = false;
  for (const Spot& spot : spots_[queue]) {
    const auto& share = workers_[spot.worker].shares[spot.share];
    const std::uint32_t has = given_[spot.worker][spot.share];
    if (free_[spot.worker] == 0 || has >= share.most) continue;
    const bool stays = has < share.now;
    const bool better = best == nullptr || (stays && !best_stays) ||
                        (stays == best_stays && free_[spot.worker] > free_[best->worker]);
    if (!better) continue;
    best = &spot;
    best_stays = stays;
  }
  if (best == nullptr) return false;
  const auto& share = workers_[best->worker].shares[best->share];
  std::uint32_t& has = given_[best->worker][best->share];
  const auto more = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      {unit_, free_[best->worker], share.most - has, needs_[queue].limit - needs_[queue].given}));
  free_[best->worker] -= more;
  has += more;
  needs_[queue].given += more;
  return true;
}

// One at a time, always to the queue that waits longest.
void Planner::share_out() {
  struct Turn {
    double wait = 0;
    double oldest = 0;  // decides between queues that have no processor yet
    std::size_t queue = 0;

    bool operator<(const Turn& other) const {
      if (wait != other.wait) return wait < other.wait;
      if (oldest != other.oldest) return oldest < other.oldest;
      return queue > other.queue;
    }
  };
  const auto turn = [&](std::size_t q) {
    const double oldest = (in_seconds(queues_[q].oldest) + 0.001) * queues_[q].weight;
    return Turn{wait(q, needs_[q].given), oldest, q};
  };
  std::priority_queue<Turn> turns;
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    if (needs_[q].active) turns.push(turn(q));
  }
  while (!turns.empty()) {
    const Turn next = turns.top();
    turns.pop();
    const Need& need = needs_[next.queue];
    if (next.wait <= 0 || need.given >= need.limit || !give(next.queue)) continue;
    turns.push(turn(next.queue));
  }
}

std::uint64_t Planner::desired() const {
  double sum = 0;
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    if (!needs_[q].wanted) continue;
    const double waiting = static_cast<double>(queues_[q].ready) * needs_[q].service;
    double wanted = needs_[q].load + waiting / in_seconds(rules_.target);
    if (queues_[q].most) wanted = std::min(wanted, static_cast<double>(*queues_[q].most));
    sum += wanted;
  }
  // Rounding errors do not make a processor.
  return static_cast<std::uint64_t>(std::ceil(std::min(sum, 1e9) - 1e-6));
}

bool Planner::is_scarce() const {
  const double patience = in_seconds(rules_.patience) * (was_scarce() ? less_patience : 1);
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    if (!must_wait(q)) continue;
    // Queues with next to nothing to do need no processor of their own.
    if (needs_[q].given == 0 && needs_[q].work <= needs_[q].horizon) continue;
    if (wait(q, needs_[q].given) > patience * queues_[q].weight) return true;
  }
  return false;
}

// Whether bounds are in force that only scarcity calls for.
bool Planner::was_scarce() const {
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    for (std::size_t l = 0; l < workers_[w].shares.size(); ++l) {
      const auto& share = workers_[w].shares[l];
      if (share.now < room_[w][l]) return true;
    }
  }
  return false;
}

// Slow tasks leave processors free for the much shorter tasks of other queues.
void Planner::leave_room(std::size_t w) {
  const WorkerCapacity& worker = workers_[w];
  std::vector<std::pair<double, double>> shorter;  // service, processors
  for (const auto& share : worker.shares) {
    const Need& need = needs_[share.queue];
    if (!need.active || share.most == 0) continue;
    const auto sharers = static_cast<double>(spots_[share.queue].size());
    shorter.emplace_back(need.service, std::max(1.0, std::ceil(need.load / sharers)));
  }
  std::ranges::sort(shorter);
  for (std::size_t i = 1; i < shorter.size(); ++i) shorter[i].second += shorter[i - 1].second;
  for (const auto& share : worker.shares) {
    const double service = needs_[share.queue].service / much_slower;
    const auto behind =
        std::ranges::upper_bound(shorter, service, {}, &std::pair<double, double>::first);
    const double reserved = behind == shorter.begin() ? 0 : std::prev(behind)->second;
    const double left = std::max(worker.processors - reserved, std::ceil(worker.processors / 2.0));
    const bool all = left >= worker.processors;
    room_[w].push_back(all ? share.most : std::min(share.most, static_cast<std::uint32_t>(left)));
  }
}

// The queue with most processors here works on whatever the others leave, as long as it has waiting
// tasks.
std::optional<std::size_t> Planner::first_of(std::size_t w) const {
  const WorkerCapacity& worker = workers_[w];
  std::optional<std::size_t> first;
  double best = 0;
  for (std::size_t l = 0; l < worker.shares.size(); ++l) {
    const auto& share = worker.shares[l];
    const Need& need = needs_[share.queue];
    const double waiting = static_cast<double>(queues_[share.queue].ready) * need.service;
    if (!must_wait(share.queue) || waiting < busy_for * static_cast<double>(need.given)) continue;
    // The present one stays while others are about as good.
    const double rank = given_[w][l] * (share.now >= room_[w][l] ? 1.5 : 1.0);
    if (rank <= best) continue;
    best = rank;
    first = l;
  }
  return first;
}

std::vector<std::uint32_t> Planner::scarce_bounds(std::size_t w) const {
  const WorkerCapacity& worker = workers_[w];
  const auto first = first_of(w);
  const bool contested = std::ranges::any_of(
      worker.shares, [&](const auto& share) { return share.most > 0 && must_wait(share.queue); });
  // A queue gets the processors it was given as soon as it has waiting tasks.
  std::uint32_t unused = free_[w];
  for (std::size_t l = 0; l < worker.shares.size(); ++l) {
    if (queues_[worker.shares[l].queue].ready == 0) unused += given_[w][l];
  }
  std::vector<std::uint32_t> bounds;
  for (std::size_t l = 0; l < worker.shares.size(); ++l) {
    const std::size_t queue = worker.shares[l].queue;
    const std::uint32_t given = given_[w][l];
    std::uint32_t bound = room_[w][l];
    if (needs_[queue].active && needs_[queue].given == 0) {
      bound = 1;  // everywhere: processors turn to it in its turn
    } else if (must_wait(queue)) {
      const bool idle = queues_[queue].ready == 0;  // its own part is in there, too
      if (first && first != l) bound = unused + (idle ? 0 : given);
    } else if (contested && needs_[queue].active) {
      // The queue has enough; while others wait it keeps to that, with some room for chance.
      bound = given + static_cast<std::uint32_t>(std::ceil(std::sqrt(given)));
    }
    bounds.push_back(std::min(bound, room_[w][l]));
  }
  return bounds;
}

AssignmentPlan Planner::plan() {
  look();
  share_out();
  AssignmentPlan plan{.scarce = is_scarce(), .desired = desired()};
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const auto bounds = plan.scarce ? scarce_bounds(w) : room_[w];
    auto& most = plan.most.emplace_back();
    const std::uint32_t processors = workers_[w].processors;
    const std::uint32_t step = std::max(1U, (processors + 1) / 2);
    const std::uint32_t chance = std::max(1U, processors / 4);
    for (std::size_t l = 0; l < workers_[w].shares.size(); ++l) {
      const std::uint32_t now = std::min(workers_[w].shares[l].now, workers_[w].shares[l].most);
      std::uint32_t then = bounds[l];
      // A small difference is chance, and not worth a change.
      const std::uint32_t off = then > now ? then - now : now - then;
      if (plan.scarce && off <= chance && now > 0 && then > 0) then = now;
      // Step by step: the statistics may be different again in the next round.
      most.push_back(std::clamp(then, now - std::min(now, step), now + step));
    }
  }
  return plan;
}

}  // namespace

AssignmentPlan plan_assignment(const std::vector<QueueLoad>& queues,
                               const std::vector<WorkerCapacity>& workers,
                               const AssignmentRules& rules) {
  return Planner(queues, workers, rules).plan();
}

}  // namespace millrace
