#include "tests/manager/simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <random>
#include <utility>

#include "core/assignment.h"

namespace millrace::test {
namespace {

constexpr double round_every = 5;  // as broker/manager.h
constexpr double beat_every = 5;   // as a worker's
constexpr double lost_after = 30;

struct Arrival {
  double at = 0;
  std::size_t queue = 0;
  double service = 0;
};

double exponential(std::mt19937_64& random, double mean) {
  const double u = (static_cast<double>(random() >> 11U) + 0.5) / 9007199254740992.0;
  return -std::log(u) * mean;
}

std::vector<Arrival> arrivals_of(const Scenario& scenario, std::uint64_t seed) {
  std::vector<Arrival> all;
  for (std::size_t q = 0; q < scenario.queues.size(); ++q) {
    const SimulatedQueue& queue = scenario.queues[q];
    std::mt19937_64 random(seed * 1000 + q);
    // Thinned: candidates at the highest rate, of which some are left out.
    const double highest = queue.rate * std::max(1.0, queue.rush_factor);
    for (double at = 0; highest > 0;) {
      at += exponential(random, 1 / highest);
      if (at >= scenario.seconds) break;
      const bool rush = std::fmod(at, queue.rush_every) < queue.rush;
      const double rate = rush ? queue.rate * queue.rush_factor : queue.rate;
      const double keep = static_cast<double>(random() >> 11U) / 9007199254740992.0;
      const double service = exponential(random, queue.service);
      if (keep * highest < rate) all.push_back({at, q, service});
    }
    for (double at = queue.burst_first; at < scenario.seconds; at += queue.burst_every) {
      for (std::uint32_t i = 0; i < queue.burst; ++i) {
        all.push_back({at, q, exponential(random, queue.service)});
      }
    }
  }
  std::ranges::stable_sort(all, {}, &Arrival::at);
  return all;
}

struct Task {
  double arrived = 0;
  double service = 0;
  bool started = false;  // before, on a worker that died
};

QueueWaits summary(std::vector<double>& waits) {
  if (waits.empty()) return {};
  std::ranges::sort(waits);
  double sum = 0;
  for (const double wait : waits) sum += wait;
  const auto place = static_cast<std::size_t>(0.99 * static_cast<double>(waits.size() - 1));
  return {.tasks = waits.size(),
          .mean = sum / static_cast<double>(waits.size()),
          .p99 = waits[place],
          .longest = waits.back()};
}

class World {
 public:
  World(const Scenario& scenario, bool manager, std::uint64_t seed)
      : scenario_(scenario), manager_(manager), arrivals_(arrivals_of(scenario, seed)) {}

  Simulated run();

 private:
  struct Queue {
    std::deque<Task> ready = {};
    std::uint32_t running = 0;
    RecentRate rate = {};
    std::uint64_t arrived = 0;  // since the last round
    RecentMean service = {};
    double served = 0;  // since the last round
    std::uint64_t ended = 0;
    std::vector<double> waits = {};
  };
  struct Worker {
    bool dead = false;
    std::uint32_t busy = 0;
    std::size_t last = 0;
    std::vector<std::uint32_t> running = {};
    std::vector<std::uint32_t> most = {};      // in force
    std::vector<std::uint32_t> assigned = {};  // with the next beat
  };
  enum class Kind : std::uint8_t { ended, came_back, died, beat, round };
  struct Event {
    double at = 0;
    std::uint64_t order = 0;
    Kind kind = Kind::ended;
    std::size_t worker = 0;
    std::size_t queue = 0;
    Task task = {};

    bool operator>(const Event& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void add(double at, Kind kind, std::size_t worker = 0, std::size_t queue = 0, Task task = {}) {
    events_.push({at, order_++, kind, worker, queue, task});
  }
  bool may(const Worker& worker, std::size_t q) const {
    const auto& most = scenario_.queues[q].most;
    return !queues_[q].ready.empty() && worker.running[q] < worker.most[q] &&
           (!most || queues_[q].running < *most);
  }
  void fill(std::size_t w, double now);
  void arrive(const Arrival& arrival);
  void happen(const Event& event);
  void round(double now);
  bool busy() const;

  const Scenario& scenario_;
  const bool manager_;
  const std::vector<Arrival> arrivals_;
  std::vector<Queue> queues_;
  std::vector<Worker> workers_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  std::size_t turn_ = 0;  // of workers
  Simulated result_;
};

// Free processors turn to the queues in turn, one task each time.
void World::fill(std::size_t w, double now) {
  Worker& worker = workers_[w];
  while (!worker.dead && worker.busy < scenario_.workers[w].processors) {
    std::size_t found = queues_.size();
    for (std::size_t i = 1; i <= queues_.size() && found == queues_.size(); ++i) {
      const std::size_t q = (worker.last + i) % queues_.size();
      if (may(worker, q)) found = q;
    }
    if (found == queues_.size()) return;
    Queue& queue = queues_[found];
    Task task = queue.ready.front();
    queue.ready.pop_front();
    if (!task.started) queue.waits.push_back(now - task.arrived);
    task.started = true;
    ++worker.busy;
    ++worker.running[found];
    ++queue.running;
    worker.last = found;
    add(now + task.service, Kind::ended, w, found, task);
  }
}

void World::arrive(const Arrival& arrival) {
  Queue& queue = queues_[arrival.queue];
  queue.ready.push_back({arrival.at, arrival.service});
  ++queue.arrived;
  for (std::size_t i = 0; i < workers_.size() && !queue.ready.empty(); ++i) {
    fill(turn_++ % workers_.size(), arrival.at);
  }
}

void World::happen(const Event& event) {
  switch (event.kind) {
    case Kind::ended: {
      Worker& worker = workers_[event.worker];
      Queue& queue = queues_[event.queue];
      if (worker.dead) {
        add(std::max(event.at, scenario_.workers[event.worker].dies + lost_after), Kind::came_back,
            0, event.queue, event.task);
        return;
      }
      --worker.busy;
      --worker.running[event.queue];
      --queue.running;
      queue.served += event.task.service;
      ++queue.ended;
      // Another worker may have waited for the queue's limit.
      for (std::size_t i = 0; i < workers_.size(); ++i)
        fill((event.worker + i) % workers_.size(), event.at);
      return;
    }
    case Kind::came_back:
      --queues_[event.queue].running;
      queues_[event.queue].ready.push_front(event.task);
      for (std::size_t w = 0; w < workers_.size(); ++w) fill(w, event.at);
      return;
    case Kind::died:
      workers_[event.worker].dead = true;
      return;
    case Kind::beat: {
      Worker& worker = workers_[event.worker];
      if (worker.dead) return;
      worker.most = worker.assigned;
      fill(event.worker, event.at);
      if (busy()) add(event.at + beat_every, Kind::beat, event.worker);
      return;
    }
    case Kind::round:
      round(event.at);
      if (busy()) add(event.at + round_every, Kind::round);
      return;
  }
}

void World::round(double now) {
  std::vector<QueueLoad> loads;
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    Queue& queue = queues_[q];
    queue.rate.add(std::exchange(queue.arrived, 0), round_every);
    queue.service.add(queue.served, queue.ended);
    queue.served = 0;
    queue.ended = 0;
    const double oldest = queue.ready.empty() ? 0 : now - queue.ready.front().arrived;
    loads.push_back({.ready = queue.ready.size(),
                     .arrivals = queue.rate.value(),
                     .service = queue.service.value(),
                     .weight = scenario_.queues[q].weight,
                     .most = scenario_.queues[q].most,
                     .oldest = Duration(static_cast<std::int64_t>(oldest * 1000))});
  }
  std::vector<WorkerCapacity> capacities;
  std::vector<std::size_t> who;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    if (now > scenario_.workers[w].dies + lost_after) continue;
    WorkerCapacity capacity{.processors = scenario_.workers[w].processors};
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      capacity.shares.push_back({q, scenario_.workers[w].most[q], workers_[w].assigned[q]});
    }
    capacities.push_back(std::move(capacity));
    who.push_back(w);
  }
  const AssignmentPlan plan = plan_assignment(loads, capacities);
  ++result_.rounds;
  bool changed = false;
  for (std::size_t i = 0; i < who.size(); ++i) {
    changed = changed || workers_[who[i]].assigned != plan.most[i];
    workers_[who[i]].assigned = plan.most[i];
  }
  result_.changes += changed ? 1 : 0;
  if (now <= scenario_.seconds) result_.desired = plan.desired;
}

bool World::busy() const {
  return std::ranges::any_of(
      queues_, [](const Queue& queue) { return !queue.ready.empty() || queue.running > 0; });
}

Simulated World::run() {
  queues_.resize(scenario_.queues.size());
  for (const SimulatedWorker& worker : scenario_.workers) {
    workers_.push_back({.last = queues_.size() - 1,
                        .running = std::vector<std::uint32_t>(queues_.size()),
                        .most = worker.most,
                        .assigned = worker.most});
  }
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    if (scenario_.workers[w].dies != no_end) add(scenario_.workers[w].dies, Kind::died, w);
    for (double at = static_cast<double>(w % 5) + 0.5; manager_ && at < scenario_.seconds;
         at += no_end) {
      add(at, Kind::beat, w);
    }
  }
  if (manager_) add(round_every, Kind::round);
  std::size_t next = 0;
  while (next < arrivals_.size() || !events_.empty()) {
    if (next < arrivals_.size() && (events_.empty() || arrivals_[next].at <= events_.top().at)) {
      arrive(arrivals_[next++]);
      continue;
    }
    const Event event = events_.top();
    events_.pop();
    // Rounds and beats go on until nothing is left to do, also over a pause.
    const bool pause = next < arrivals_.size() && !busy();
    happen(event);
    if (pause && event.kind == Kind::beat) add(event.at + beat_every, Kind::beat, event.worker);
    if (pause && event.kind == Kind::round) add(event.at + round_every, Kind::round);
  }
  std::vector<double> all;
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    auto& waits = queues_[q].waits;
    const double weight = scenario_.queues[q].weight;
    for (const double wait : waits) result_.weighted += wait * weight;
    all.insert(all.end(), waits.begin(), waits.end());
    result_.by.push_back(summary(waits));
    result_.worst = std::max(result_.worst, result_.by.back().mean * weight);
  }
  result_.weighted /= static_cast<double>(std::max<std::size_t>(all.size(), 1));
  result_.all = summary(all);
  return std::move(result_);
}

}  // namespace

Simulated simulate(const Scenario& scenario, bool manager, std::uint64_t seed) {
  return World(scenario, manager, seed).run();
}

}  // namespace millrace::test
