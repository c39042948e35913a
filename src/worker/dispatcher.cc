#include "worker/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/ensure.h"
#include "core/uuid.h"

namespace millrace::worker {
namespace {

// Short tasks share a chunk: about this long in all, and at most this many.
constexpr double chunk_nanoseconds = 1e6;
constexpr std::size_t largest_chunk = 256;

// A chunk of several calls should be finished by then.
constexpr Moment slow_chunk = std::chrono::milliseconds(5);

// The store ends a lease 30 s after the task's timeout, counted from the take. A task that has
// waited here for longer than this would not have all its time, so it is given back.
constexpr Moment longest_reserve = std::chrono::seconds(20);

std::vector<Turns::Queue> turn_takers(const std::vector<QueueHandlers>& queues) {
  std::vector<Turns::Queue> takers;
  for (const QueueHandlers& each : queues) {
    takers.push_back({each.queue, each.priority, std::max(each.weight, 1U)});
  }
  return takers;
}

}  // namespace

Dispatcher::Dispatcher(const WorkerOptions& options, std::vector<QueueHandlers> queues,
                       RunHost& host)
    : options_(options),
      host_(host),
      turns_(options.order, turn_takers(queues)),
      random_(static_cast<std::uint32_t>(std::hash<std::string>{}(options.name))) {
  for (QueueHandlers& each : queues) queues_.emplace_back(std::move(each));
  std::uint32_t sum = 0;
  for (const WorkerQueue& queue : queues_) sum += queue.how.concurrency;
  processors_ = options.processors == 0 ? sum : options.processors;
}

// ---- Chunks ----

bool Dispatcher::has_work() const {
  if (stopping_ || busy_ >= processors_) return false;
  return std::ranges::any_of(queues_, [](const WorkerQueue& queue) {
    return !queue.waiting.empty() && queue.slots() > 0;
  });
}

std::size_t Dispatcher::chunk_size(const WorkerQueue& queue, bool one_call) const {
  const std::size_t batch = queue.how.batch_size;
  if (one_call || queue.mean == 0) return batch;
  // All free processors share the waiting tasks.
  const std::size_t sharers = std::max(1U, std::min(queue.slots(), processors_ - busy_));
  const std::size_t share = (queue.waiting.size() + sharers - 1) / sharers;
  const auto fitting = static_cast<std::size_t>(chunk_nanoseconds / queue.mean);
  return std::max(batch, std::min({fitting / batch * batch, share, largest_chunk}));
}

// Takes runs off the front of the queue. A call ends where the handler changes, or with a full
// batch.
std::vector<RunPtr> Dispatcher::pick_runs(WorkerQueue& queue, std::size_t most,
                                          std::vector<std::size_t>& ends, Moment now) {
  std::vector<RunPtr> runs;
  runs.reserve(std::min(most, queue.waiting.size()));
  const HandlerFunction* handler = nullptr;
  while (!queue.waiting.empty() && runs.size() < most) {
    RunPtr run = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    if (run->timeout && now - run->received > longest_reserve) {
      give_back(run);
      continue;
    }
    if (queue.how.batch_size > 1) {
      const HandlerFunction* own = queue.handler_of(run->lease.type);
      const std::size_t begun = ends.empty() ? 0 : ends.back();
      const bool ends_here = own != handler || runs.size() - begun == queue.how.batch_size;
      if (!runs.empty() && ends_here) ends.push_back(runs.size());
      handler = own;
    }
    runs.push_back(std::move(run));
  }
  if (queue.how.batch_size > 1) ends.push_back(runs.size());
  return runs;
}

ChunkPtr Dispatcher::next_chunk(Moment now, bool one_call) {
  while (!stopping_ && busy_ < processors_) {
    std::vector<bool> may(queues_.size());
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      may[i] = !queues_[i].waiting.empty() && queues_[i].slots() > 0;
    }
    const auto pick = turns_.pick(may);
    if (!pick) return nullptr;
    WorkerQueue& queue = queues_[*pick];
    std::vector<std::size_t> ends;
    auto runs = pick_runs(queue, chunk_size(queue, one_call), ends, now);
    if (runs.empty()) continue;  // all had waited for too long and were given back
    const std::size_t batches = queue.how.batch_size > 1 ? ends.size() : runs.size();
    turns_.took(batches - 1);
    if (one_call &&
        batches > 1) {  // types with handlers of their own: the rest waits for the next turn
      for (std::size_t i = runs.size(); i > ends.front(); --i) {
        queue.waiting.push_front(std::move(runs[i - 1]));
      }
      runs.resize(ends.front());
      ends.resize(1);
    }
    auto chunk = std::make_shared<Chunk>(*pick, std::move(runs), std::move(ends), now);
    chunks_.push_back(chunk);
    ++queue.busy;
    ++busy_;
    return chunk;
  }
  return nullptr;
}

void Dispatcher::remove_chunk(const ChunkPtr& chunk) {
  const auto place = std::ranges::find(chunks_, chunk);
  if (place == chunks_.end()) return;
  ensure(busy_ > 0 && queues_[chunk->queue_index].busy > 0,
         "a chunk ended on a processor that had none");
  *place = std::move(chunks_.back());
  chunks_.pop_back();
  --queues_[chunk->queue_index].busy;
  --busy_;
}

void Dispatcher::finished(const ChunkPtr& chunk) {
  WorkerQueue& queue = queues_[chunk->queue_index];
  remove_chunk(chunk);
  std::size_t count = 0;
  for (const RunPtr& run : chunk->runs) {
    if (!run || run->started() == no_moment) continue;
    ++count;
    if (run->has_ending()) {
      collect(run);
    } else if (!run->settled()) {
      ++queue.left;
    }
  }
  queue.stats.duration += std::chrono::duration_cast<Duration>(chunk->busy_time + queue.rest);
  queue.rest = (chunk->busy_time + queue.rest) % Duration(1);
  queue.slow_cycles += chunk->slow;
  if (count != 0) {
    queue.measured(static_cast<double>(chunk->busy_time.count()) / static_cast<double>(count));
  }
  // What was reclaimed at the last moment, or while the worker stops, is left to other processors.
  for (RunPtr& run : chunk->reclaim()) queue.waiting.push_front(std::move(run));
  if (stopping_) give_back_waiting(queue);
}

void Dispatcher::came_back(const Chunk& chunk) {
  WorkerQueue& queue = queues_[chunk.queue_index];
  ensure(queue.abandoned > 0, "a handler returned that was not given up");
  --queue.abandoned;
  if (!queue.stuck || queue.abandoned >= queue.how.concurrency) return;
  queue.stuck = false;
  options_.log(
      LogLevel::info,
      fmt::format("queue {}: a handler has returned; tasks are taken again", queue.how.queue),
      {{"queue", queue.how.queue}});
}

void Dispatcher::note_cycle(Chunk& chunk, const Run& first, Moment handling) const {
  const WorkerQueue& queue = queues_[chunk.queue_index];
  const Moment cycle = first.taken_in + handling;
  chunk.busy_time += handling;
  queue.cycles.observe(std::chrono::duration<double>(cycle).count());
  if (cycle <= options_.slow_cycle) return;
  ++chunk.slow;
  const double seconds = std::chrono::duration<double>(cycle).count();
  options_.log(LogLevel::warning,
               fmt::format("queue {}: a cycle took {:.1f} s, more than {:g} s", queue.how.queue,
                           seconds, std::chrono::duration<double>(options_.slow_cycle).count()),
               {{"queue", queue.how.queue}, {"seconds", seconds}});
}

// ---- Ends ----

void Dispatcher::collect(Moment now, bool all) {
  for (const ChunkPtr& chunk : chunks_) {
    const bool slow =
        !chunk->looked_at && chunk->has_several_calls() && chunk->begun + slow_chunk <= now;
    if (!slow && !all) continue;
    for (const RunPtr& run : chunk->runs) {
      if (run && !run->collected && run->has_ending()) collect(run);
    }
    if (!slow) continue;
    chunk->looked_at = true;
    auto rest = chunk->reclaim();
    auto& waiting = queues_[chunk->queue_index].waiting;
    for (std::size_t i = rest.size(); i > 0; --i) waiting.push_front(std::move(rest[i - 1]));
  }
}

Moment Dispatcher::next_collect() const {
  Moment next = no_moment;
  for (const ChunkPtr& chunk : chunks_) {
    if (!chunk->looked_at && chunk->has_several_calls())
      next = std::min(next, chunk->begun + slow_chunk);
  }
  return next;
}

void Dispatcher::collect(const RunPtr& run) {
  if (run->collected) return;
  ensure(run->has_ending(), "a run was collected that has not ended");
  run->collected = true;
  count(queues_[run->queue_index], *run);
  outbox_.push_back(run);
}

void Dispatcher::count(WorkerQueue& queue, const Run& run) {
  const Ending& ending = run.ending();
  if (!ending.by_handler) {
    if (std::holds_alternative<GiveBack>(ending.outcome)) ++given_back_;
    return;
  }
  ++queue.handled;
  const TaskError* error = nullptr;
  if (const auto* failed = std::get_if<Failed>(&ending.outcome)) error = &failed->error;
  if (const auto* retry = std::get_if<RetryAt>(&ending.outcome)) error = &retry->error;
  if (error != nullptr) {
    ++queue.stats.errors;
    queue.stats.last_error = error->message;
  }
}

void Dispatcher::give_back(const RunPtr& run) {
  if (run->end(GiveBack{}, false, false)) collect(run);
}

void Dispatcher::give_back_waiting(WorkerQueue& queue) {
  for (const RunPtr& run : queue.waiting) give_back(run);
  queue.waiting.clear();
}

// Asks every queue again, even those that were empty the last time.
void Dispatcher::begin_step() {
  stepping_ = true;
  resume_at_ = Moment::zero();
  for (WorkerQueue& queue : queues_) {
    queue.dry = false;
    queue.refused_until = Moment::zero();
  }
}

// ---- Stopping ----

void Dispatcher::shut_down() {
  stopping_ = true;
  given_back_ = 0;
  for (WorkerQueue& queue : queues_) give_back_waiting(queue);
  for (const ChunkPtr& chunk : chunks_) {
    for (const RunPtr& run : chunk->reclaim()) give_back(run);
  }
}

std::vector<RunPtr> Dispatcher::running() const {
  std::vector<RunPtr> runs;
  for (const ChunkPtr& chunk : chunks_) {
    const auto call = chunk->call();
    for (std::size_t i = call ? call->from : 0; call && i < call->to; ++i) {
      runs.push_back(chunk->runs[i]);
    }
  }
  return runs;
}

std::size_t Dispatcher::give_up() {
  std::size_t calls = 0;
  const auto chunks = chunks_;
  for (const ChunkPtr& chunk : chunks) {
    const auto call = chunk->call();
    if (!call || !chunk->abandon(*call)) continue;  // the call is about to return
    ++calls;
    ++queues_[chunk->queue_index].abandoned;
    for (const RunPtr& run : chunk->runs) {
      if (!run) continue;
      if (run->has_ending()) collect(run);
      give_back(run);
      given_up_.push_back(run);
    }
    remove_chunk(chunk);
  }
  return calls;
}

void Dispatcher::drop_all(const Error& why) {
  for (const RunPtr& run : outbox_) run->drop(why);
  outbox_.clear();
  // A handler may be waiting for an answer that will not come.
  for (const RunPtr& run : given_up_) run->drop(why);
  given_up_.clear();
}

}  // namespace millrace::worker
