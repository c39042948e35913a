#include "worker/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/uuid.h"

namespace millrace::worker {
namespace {

// Tasks so short that several of them make a hand: about so long in all, and at most so many.
constexpr double hand_nanoseconds = 1e6;
constexpr std::size_t largest_hand = 256;

// A hand of several calls should be over by then.
constexpr Moment slow_hand = std::chrono::milliseconds(5);

// The store ends a lease 30 s after the task's time is up, counted from the take: one that has
// waited here for longer than this would not have all its time.
constexpr Moment longest_wait = std::chrono::seconds(20);

std::vector<Turns::Queue> turn_takers(const std::vector<QueueHandlers>& queues) {
  std::vector<Turns::Queue> takers;
  for (const QueueHandlers& each : queues) {
    takers.push_back({each.queue, each.priority, std::max(each.weight, 1U)});
  }
  return takers;
}

}  // namespace

Dispatcher::Dispatcher(const WorkerOptions& options, std::vector<QueueHandlers> queues,
                       const RunHost& host)
    : options_(options),
      host_(host),
      turns_(options.order, turn_takers(queues)),
      random_(static_cast<std::uint32_t>(std::hash<std::string>{}(options.name))) {
  for (QueueHandlers& each : queues) lines_.emplace_back(std::move(each));
  std::uint32_t sum = 0;
  for (const Line& line : lines_) sum += line.how.concurrency;
  processors_ = options.processors == 0 ? sum : options.processors;
}

// ---- Hands
// ---------------------------------------------------------------------------------------

bool Dispatcher::has_work() const {
  if (stopping_ || busy_ >= processors_) return false;
  return std::ranges::any_of(
      lines_, [](const Line& line) { return !line.waiting.empty() && line.slots() > 0; });
}

std::size_t Dispatcher::hand_size(const Line& line, bool one_call) const {
  const std::size_t batch = line.how.batch_size;
  if (one_call || line.mean == 0) return batch;
  // All that are free share what is here.
  const std::size_t sharers = std::max(1U, std::min(line.slots(), processors_ - busy_));
  const std::size_t share = (line.waiting.size() + sharers - 1) / sharers;
  const auto fitting = static_cast<std::size_t>(hand_nanoseconds / line.mean);
  return std::max(batch, std::min({fitting / batch * batch, share, largest_hand}));
}

// Takes runs off the front of the line. Calls end where the handler changes, or with a full batch.
std::vector<RunPtr> Dispatcher::pick_runs(Line& line, std::size_t most,
                                          std::vector<std::size_t>& ends, Moment now) {
  std::vector<RunPtr> runs;
  runs.reserve(std::min(most, line.waiting.size()));
  const HandlerFunction* handler = nullptr;
  while (!line.waiting.empty() && runs.size() < most) {
    RunPtr run = std::move(line.waiting.front());
    line.waiting.pop_front();
    if (run->timeout && now - run->received > longest_wait) {
      give_back(run);
      continue;
    }
    if (line.how.batch_size > 1) {
      const HandlerFunction* own = line.handler_of(run->lease.type);
      const std::size_t begun = ends.empty() ? 0 : ends.back();
      const bool ends_here = own != handler || runs.size() - begun == line.how.batch_size;
      if (!runs.empty() && ends_here) ends.push_back(runs.size());
      handler = own;
    }
    runs.push_back(std::move(run));
  }
  if (line.how.batch_size > 1) ends.push_back(runs.size());
  return runs;
}

HandPtr Dispatcher::next_hand(Moment now, bool one_call) {
  while (!stopping_ && busy_ < processors_) {
    std::vector<bool> may(lines_.size());
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      may[i] = !lines_[i].waiting.empty() && lines_[i].slots() > 0;
    }
    const auto pick = turns_.pick(may);
    if (!pick) return nullptr;
    Line& line = lines_[*pick];
    std::vector<std::size_t> ends;
    auto runs = pick_runs(line, hand_size(line, one_call), ends, now);
    if (runs.empty()) continue;  // all had waited for too long
    const std::size_t batches = line.how.batch_size > 1 ? ends.size() : runs.size();
    turns_.took(batches - 1);
    if (one_call && batches > 1) {  // types that are handled apart: the rest is for the next turn
      for (std::size_t i = runs.size(); i > ends.front(); --i) {
        line.waiting.push_front(std::move(runs[i - 1]));
      }
      runs.resize(ends.front());
      ends.resize(1);
    }
    auto hand = std::make_shared<Hand>(*pick, std::move(runs), std::move(ends), now);
    hands_.push_back(hand);
    ++line.busy;
    ++busy_;
    return hand;
  }
  return nullptr;
}

void Dispatcher::unhand(const HandPtr& hand) {
  const auto place = std::ranges::find(hands_, hand);
  if (place == hands_.end()) return;
  *place = std::move(hands_.back());
  hands_.pop_back();
  --lines_[hand->line].busy;
  --busy_;
}

void Dispatcher::finished(const HandPtr& hand) {
  Line& line = lines_[hand->line];
  unhand(hand);
  std::size_t count = 0;
  for (const RunPtr& run : hand->runs) {
    if (!run || run->started() == no_moment) continue;
    ++count;
    if (run->has_ending()) {
      collect(run);
    } else if (!run->settled()) {
      ++line.left;
    }
  }
  line.stats.duration += std::chrono::duration_cast<Duration>(hand->busy_time + line.rest);
  line.rest = (hand->busy_time + line.rest) % Duration(1);
  line.slow_cycles += hand->slow;
  if (count != 0) {
    line.measured(static_cast<double>(hand->busy_time.count()) / static_cast<double>(count));
  }
  // Reclaimed at the last moment, or the worker stops: somebody else's.
  for (RunPtr& run : hand->reclaim()) line.waiting.push_front(std::move(run));
  if (stopping_) give_back_waiting(line);
}

void Dispatcher::came_back(const Hand& hand) {
  Line& line = lines_[hand.line];
  --line.abandoned;
  if (!line.stuck || line.abandoned >= line.how.concurrency) return;
  line.stuck = false;
  options_.log(LogLevel::info,
               fmt::format("queue {}: a handler came back, tasks are taken again", line.how.queue),
               {{"queue", line.how.queue}});
}

void Dispatcher::note_cycle(Hand& hand, const Run& first, Moment handling) const {
  const Line& line = lines_[hand.line];
  const Moment cycle = first.taken_in + handling;
  hand.busy_time += handling;
  line.cycles.observe(std::chrono::duration<double>(cycle).count());
  if (cycle <= options_.slow_cycle) return;
  ++hand.slow;
  const double seconds = std::chrono::duration<double>(cycle).count();
  options_.log(LogLevel::warning,
               fmt::format("queue {}: a cycle took {:.1f} s, more than {:g} s", line.how.queue,
                           seconds, std::chrono::duration<double>(options_.slow_cycle).count()),
               {{"queue", line.how.queue}, {"seconds", seconds}});
}

// ---- Ends
// ----------------------------------------------------------------------------------------

void Dispatcher::collect(Moment now, bool all) {
  for (const HandPtr& hand : hands_) {
    const bool slow =
        !hand->looked_at && hand->has_several_calls() && hand->begun + slow_hand <= now;
    if (!slow && !all) continue;
    for (const RunPtr& run : hand->runs) {
      if (run && !run->collected && run->has_ending()) collect(run);
    }
    if (!slow) continue;
    hand->looked_at = true;
    auto rest = hand->reclaim();
    auto& waiting = lines_[hand->line].waiting;
    for (std::size_t i = rest.size(); i > 0; --i) waiting.push_front(std::move(rest[i - 1]));
  }
}

Moment Dispatcher::next_collect() const {
  Moment next = no_moment;
  for (const HandPtr& hand : hands_) {
    if (!hand->looked_at && hand->has_several_calls())
      next = std::min(next, hand->begun + slow_hand);
  }
  return next;
}

void Dispatcher::collect(const RunPtr& run) {
  if (run->collected) return;
  run->collected = true;
  count(lines_[run->line], *run);
  outbox_.push_back(run);
}

void Dispatcher::count(Line& line, const Run& run) {
  const Ending& ending = run.ending();
  if (!ending.by_handler) {
    if (std::holds_alternative<GiveBack>(ending.outcome)) ++given_back_;
    return;
  }
  ++line.handled;
  const TaskError* error = nullptr;
  if (const auto* failed = std::get_if<Failed>(&ending.outcome)) error = &failed->error;
  if (const auto* retry = std::get_if<RetryAt>(&ending.outcome)) error = &retry->error;
  if (error != nullptr) {
    ++line.stats.errors;
    line.stats.last_error = error->message;
  }
}

void Dispatcher::give_back(const RunPtr& run) {
  if (run->end(GiveBack{}, false, false)) collect(run);
}

void Dispatcher::give_back_waiting(Line& line) {
  for (const RunPtr& run : line.waiting) give_back(run);
  line.waiting.clear();
}

// Asks every queue, whatever it had the last time.
void Dispatcher::begin_step() {
  stepping_ = true;
  resume_at_ = Moment::zero();
  for (Line& line : lines_) {
    line.dry = false;
    line.refused_until = Moment::zero();
  }
}

// ---- Stopping
// ------------------------------------------------------------------------------------

void Dispatcher::shut_down() {
  stopping_ = true;
  given_back_ = 0;
  for (Line& line : lines_) give_back_waiting(line);
  for (const HandPtr& hand : hands_) {
    for (const RunPtr& run : hand->reclaim()) give_back(run);
  }
}

std::vector<RunPtr> Dispatcher::running() const {
  std::vector<RunPtr> runs;
  for (const HandPtr& hand : hands_) {
    const auto call = hand->call();
    for (std::size_t i = call ? call->from : 0; call && i < call->to; ++i) {
      runs.push_back(hand->runs[i]);
    }
  }
  return runs;
}

std::size_t Dispatcher::give_up() {
  std::size_t calls = 0;
  const auto hands = hands_;
  for (const HandPtr& hand : hands) {
    const auto call = hand->call();
    if (!call || !hand->abandon(*call)) continue;  // it is on its way back
    ++calls;
    ++lines_[hand->line].abandoned;
    for (const RunPtr& run : hand->runs) {
      if (!run) continue;
      if (run->has_ending()) collect(run);
      give_back(run);
      given_up_.push_back(run);
    }
    unhand(hand);
  }
  return calls;
}

void Dispatcher::drop_all(const Error& why) {
  for (const RunPtr& run : outbox_) run->drop(why);
  outbox_.clear();
  // A handler may wait for an answer that will not come.
  for (const RunPtr& run : given_up_) run->drop(why);
  given_up_.clear();
}

}  // namespace millrace::worker
