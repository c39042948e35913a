// Tasks to put, and what is done to running ones.
#include <algorithm>

#include "core/decide.h"
#include "core/limits.h"
#include "core/transition.h"
#include "tests/random/describe.h"
#include "tests/random/generator.h"

namespace millrace::test {

using namespace std::chrono_literals;

namespace {

bool is_running(TaskState state) {
  return state == TaskState::processing;
}

}  // namespace

// ---- Put --------------------------------------------------------------------------------------

PutStep Generator::put() {
  PutStep step;
  if (dice_.below(1000) < 2) {
    step.tasks.assign(limits::max_batch + 1, new_task());
    return step;
  }
  const auto most = dice_.percent(60) ? 1U : dice_.between(2U, 8 * scale_);
  while (step.tasks.size() < most) step.tasks.push_back(new_task());
  return step;
}

// Some wait for each other, whichever comes first; sometimes in a cycle.
PutAllStep Generator::put_all() {
  PutAllStep step;
  const auto most = dice_.between(1U, 6 * scale_);
  while (step.tasks.size() < most) {
    auto& task = step.tasks.emplace_back(new_task());
    if (task.unique && !dice_.percent(3)) {
      task.unique->on_conflict = OnConflict::keep;
      task.unique->max_delay.reset();
    }
  }
  for (auto& task : step.tasks) {
    if (!dice_.percent(40)) continue;
    const auto& other = dice_.pick(step.tasks);
    if (!dice_.percent(5) && (other.id == task.id || other.after)) continue;
    if (!task.after) task.after.emplace();
    const auto& known = task.after->tasks;
    if (std::ranges::find(known, other.id) == known.end()) task.after->tasks.push_back(other.id);
  }
  return step;
}

NewTask Generator::new_task() {
  NewTask task;
  // Sometimes the id of a task that exists, or existed.
  task.id = dice_.percent(95) || last_task_ == 0 ? task_id(++last_task_)
                                                 : task_id(dice_.between(1U, last_task_));
  task.queue = some_queue();
  if (dice_.percent(50)) task.priority = static_cast<std::uint8_t>(dice_.below(10));
  if (dice_.percent(30)) add_moments(task);
  if (dice_.percent(30)) {
    task.unique =
        UniqueKey{.key = dice_.word("key", 4), .scope = static_cast<UniqueScope>(dice_.below(3))};
    if (task.unique->scope == UniqueScope::window) {
      task.unique->window = 1ms + soon();
    } else if (dice_.percent(50)) {
      add_conflict(task);
    }
  }
  if (dice_.percent(25)) add_policy(task);
  if (dice_.percent(30)) add_labels(task);
  if (can_.groups && dice_.percent(60)) task.group = some_group();
  if (dice_.percent(25)) task.cost = dice_.below(9);
  const bool replaces = task.unique && task.unique->on_conflict != OnConflict::keep;
  if (can_.graphs && dice_.percent(replaces ? 2 : 25)) add_parents(task);
  if (dice_.percent(2)) spoil(task);
  return task;
}

void Generator::add_conflict(NewTask& task) {
  const bool can_postpone = task.delay || task.start;
  task.unique->on_conflict =
      can_postpone && dice_.percent(60) ? OnConflict::postpone : OnConflict::replace;
  const bool postpones = task.unique->on_conflict == OnConflict::postpone;
  if (postpones && dice_.percent(70)) task.unique->max_delay = 1ms + soon();
}

void Generator::add_parents(NewTask& task) {
  After& after = task.after.emplace();
  after.when = static_cast<AfterWhen>(dice_.below(2));
  after.otherwise = static_cast<Otherwise>(dice_.below(3));
  // Mostly tasks that are there.
  do {
    const TaskId parent = some_task();
    const bool known = std::ranges::find(after.tasks, parent) != after.tasks.end();
    if (!known || dice_.percent(5)) after.tasks.push_back(parent);
  } while (dice_.percent(40));
}

void Generator::add_moments(NewTask& task) {
  const auto roll = dice_.below(10);
  if (roll < 3) task.delay = soon();
  if (roll >= 3 && roll < 6) task.start = dice_.percent(80) ? now_ + soon() : now_ - soon();
  if (dice_.percent(20)) task.held = true;
  if (dice_.percent(40)) {
    const auto start = task.start.value_or(now_ + task.delay.value_or(0ms));
    task.start_by = start + soon();
  }
}

void Generator::add_policy(NewTask& task) {
  if (dice_.percent(25)) task.timeout = dice_.between(1s, 60s);
  if (dice_.percent(25)) task.max_lost = dice_.below(3);
  if (dice_.percent(30)) {
    task.retry.emplace();
    task.retry->max_retries = dice_.below(4);
    if (dice_.percent(50)) task.retry->base = soon();
    if (dice_.percent(20)) task.retry->backoff = static_cast<Backoff>(dice_.below(2));
    if (dice_.percent(20)) task.retry->factor = 1 + dice_.share();
    if (dice_.percent(20)) task.retry->cap = 1s + soon();
    if (dice_.percent(20)) task.retry->jitter = static_cast<Jitter>(dice_.below(3));
    if (dice_.percent(20)) task.retry->jitter_share = dice_.share();
    if (dice_.percent(20)) task.retry->cap_after_jitter = dice_.percent(50);
    if (dice_.percent(20)) task.retry->retryable = static_cast<Retryable>(dice_.below(2));
  }
  if (dice_.percent(20)) {
    task.callback = Callback{.url = "https://example.org/done"};
    if (dice_.percent(50)) task.callback->events = static_cast<std::uint8_t>(1 + dice_.below(31));
    if (dice_.percent(50)) task.callback->max_attempts = 1 + dice_.below(9);
  }
  if (dice_.percent(40)) {
    const std::vector<Duration> keeps = {0ms, 10ms, 1s, 1min, 1h};
    const auto some = [&] { return Keep{.for_time = dice_.pick(keeps)}; };
    const auto kind = dice_.below(3);
    if (kind == 0) task.keep_for = dice_.pick(keeps);
    if (kind != 0 && dice_.percent(70)) task.keep_completed = some();
    if (kind == 2) task.keep_dead = some();
  }
}

// Text that has a meaning in SQL, JSON or a terminal, and has to come back unchanged.
std::string Generator::odd_text() {
  static const std::vector<std::string> texts = {
      "null",    "NULL", "{a,b}", "a\"b", "a\\b", "a,b", " a ", "'; --", "%s $1 :now {{x}}",
      "\xC3\xA9"};
  return dice_.pick(texts);
}

// No text in any encoding.
std::string Generator::bytes() {
  return std::string("\0\xFF\0", 3) + odd_text();
}

void Generator::add_labels(NewTask& task) {
  const auto label = [&](const std::string& usual) {
    return dice_.percent(10) ? odd_text() : dice_.word(usual, 3);
  };
  task.type = dice_.word("type", 3);
  task.payload = dice_.word("payload", 100);
  if (dice_.percent(10)) task.payload = bytes();
  if (dice_.percent(3)) task.payload.resize(dice_.between(1020U, 1030U), 'x');  // see add_limits()
  if (dice_.percent(30)) task.content_type = "text/plain";
  if (dice_.percent(50)) task.client_id = label("client");
  if (dice_.percent(20)) task.request_id = label("request");
  if (dice_.percent(50)) task.group = label("group");
  if (dice_.percent(20)) task.metadata = "{\"a\":1}";
  while (dice_.percent(40)) task.tags.push_back(label("tag"));
  if (dice_.percent(20)) task.parent = some_task();
}

std::vector<NewTask> Generator::follow_ups(std::uint32_t percent) {
  std::vector<NewTask> tasks;
  while (dice_.percent(percent)) tasks.push_back(new_task());
  // They are refused if they wait for others.
  for (NewTask& task : tasks) {
    if (task.after && !dice_.percent(5)) task.after.reset();
  }
  if (dice_.below(1000) < 2) tasks.assign(limits::max_follow_ups + dice_.below(2), new_task());
  return tasks;
}

// ---- Work -------------------------------------------------------------------------------------

WorkStep Generator::work() {
  WorkStep step;
  if (dice_.percent(60)) {
    const auto more = scale_ > 1 ? 95U : 40U;
    while (step.settlements.empty() || dice_.percent(more)) {
      step.settlements.push_back(settle_part());
    }
  }
  if (dice_.percent(30)) {
    while (step.extensions.empty() || dice_.percent(30)) step.extensions.push_back(extend_part());
  }
  if (dice_.percent(60)) {
    while (step.takes.empty() || dice_.percent(15)) step.takes.push_back(take());
  }
  return step;
}

TokenPick Generator::token_pick() {
  const auto roll = dice_.below(100);
  if (roll < 88) return TokenPick::latest;
  if (roll < 95) return TokenPick::earlier;
  return roll < 98 ? TokenPick::garbage : TokenPick::nil;
}

SettlePart Generator::settle_part() {
  const auto roll = dice_.below(100);
  const auto again = roll < 15 && !leased_.empty();
  const auto id = again ? dice_.pick(leased_) : task_in(is_running);
  auto part = roll < 88 ? held_part(id) : roll < 95 ? lost_part(id) : expired_part();
  part.settlement.follow_ups = follow_ups(12);
  if (dice_.percent(3)) spoil(part);
  return part;
}

SettlePart Generator::held_part(const TaskId& id) {
  SettlePart part{.kind = ExpectKind::held, .token = token_pick()};
  part.settlement.id = id;
  if (const auto* lease = model_.last_lease(id)) {
    const RetryPolicy server{.base = 50ms};
    const auto queue = settings_of(lease->queue);
    part.settlement = decide(*lease, outcome(), queue, server, now_, dice_.share());
    if (part.settlement.event == Event::give_back) part.settlement.started = dice_.percent(50);
    if (dice_.percent(25)) part.settlement.checkpoint = checkpoint();
    if (dice_.percent(25)) part.settlement.cost = dice_.below(12);
    const auto task = std::ranges::find(tasks_, id, &Task::id);
    if (task != tasks_.end() && task->cancel_requested && dice_.percent(60)) {
      part.settlement = decide_cancelled(part.settlement, now_);
    }
  }
  return part;
}

Outcome Generator::outcome() {
  TaskError error;
  error.code = dice_.word("code", 4);
  error.message = dice_.percent(10) ? bytes() : dice_.word("message", 10);
  if (dice_.percent(20)) error.details = dice_.percent(30) ? bytes() : dice_.word("details", 9);
  if (dice_.percent(20)) error.stack = dice_.percent(30) ? bytes() : dice_.word("stack", 9);
  if (lonely() && dice_.percent(80)) return Snooze{.until = now_ + soon()};
  const auto roll = dice_.below(100);
  if (roll < 38) {
    if (dice_.percent(10)) return Done{.result = bytes()};
    return Done{.result = dice_.percent(50) ? dice_.word("result", 10) : ""};
  }
  if (roll < 65) {
    return Failed{.error = error,
                  .retryable = dice_.percent(60) ? std::nullopt : std::optional(dice_.percent(50))};
  }
  if (roll < 75) return RetryAt{.at = now_ + soon(), .error = error};
  if (roll < 80) return Snooze{.until = now_ + soon()};
  if (roll < 87) return Park{.until = dice_.percent(30) ? never : now_ + soon()};
  if (roll < 92) return Cancel{.reason = error.message};
  return GiveBack{};
}

SettlePart Generator::lost_part(const TaskId& id) {
  SettlePart part{.kind = ExpectKind::lost, .token = token_pick()};
  part.settlement.id = id;
  if (const auto* lease = model_.last_lease(id)) {
    part.settlement =
        decide_lost(*lease, {}, dice_.percent(10), settings_of(lease->queue), {}, now_);
  }
  if (dice_.percent(20)) part.until_skew = dice_.between(-5s, 5s);
  return part;
}

SettlePart Generator::expired_part() {
  SettlePart part{.kind = ExpectKind::unchanged};
  const auto id = task_in(is_waiting);
  const auto task = std::ranges::find(tasks_, id, &Task::id);
  const auto counters = task == tasks_.end() ? Counters{} : task->counters;
  part.settlement = decide_expired(id, {}, now_, counters);
  if (dice_.percent(25)) part.version_skew = dice_.percent(50) ? 1 : -1;
  return part;
}

// Sometimes an empty one, which is none.
std::string Generator::checkpoint() {
  if (dice_.percent(10)) return "";
  if (dice_.percent(2)) return std::string(limits::max_checkpoint + dice_.below(2), 'c');
  return dice_.percent(10) ? bytes() : dice_.word("checkpoint", 9);
}

ExtendPart Generator::extend_part() {
  ExtendPart part{.token = token_pick()};
  auto& extension = part.extension;
  extension.id = dice_.percent(90) || leased_.empty() ? task_in(is_running) : dice_.pick(leased_);
  if (dice_.percent(50)) extension.lease = dice_.between(1s, 5min);
  if (dice_.percent(2)) extension.lease = dice_.percent(50) ? Duration(999ms) : Duration(13h);
  if (dice_.percent(30)) extension.progress = dice_.below(dice_.percent(97) ? 101 : 200);
  if (dice_.percent(25)) {
    while (extension.log.empty() || dice_.percent(30))
      extension.log.push_back(dice_.word("log", 9));
    if (dice_.percent(15)) extension.log.assign(limits::max_log_lines - 1 + dice_.below(3), "many");
  }
  if (dice_.percent(30)) extension.checkpoint = checkpoint();
  return part;
}

TakeRequest Generator::take() {
  TakeRequest request{.worker = dice_.word("worker", 3), .queues = {}};
  while (request.queues.empty() || dice_.percent(40)) {
    request.queues.push_back({.queue = some_queue(), .most = dice_.between(1U, 4 * scale_)});
  }
  if (dice_.percent(15)) request.lease = dice_.between(1s, 3min);
  if (dice_.percent(4)) spoil(request);
  return request;
}

}  // namespace millrace::test
