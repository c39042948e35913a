#include "tests/random/generator.h"

#include <algorithm>

#include "core/limits.h"
#include "core/own_keep.h"
#include "core/transition.h"
#include "store/store.h"
#include "tests/random/describe.h"
#include "tests/support/builders.h"
#include "tests/support/model_store.h"

namespace millrace::test {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t look_every = 20;        // steps
constexpr std::size_t look_around_every = 4;  // its knowledge may be old, as with real callers

bool is_revivable(TaskState state) {
  return next_state(state, Event::revive).has_value();
}

bool is_any(TaskState /*state*/) {
  return true;
}

bool is_running(TaskState state) {
  return state == TaskState::processing;
}

}  // namespace

Abilities abilities_of(const Traits& traits) {
  return {.graphs = traits.graphs, .groups = traits.groups};
}

Sequence generate(std::uint64_t seed, std::size_t length, Abilities can) {
  return Generator(seed, can).run(length);
}

Generator::Generator(std::uint64_t seed, Abilities can)
    : dice_(seed),
      can_(can),
      scale_(dice_.percent(4) ? 15 : 1),
      crowd_(scale_ * (dice_.percent(10) ? 3 : 60)),
      model_(std::make_unique<ModelStore>()),
      now_(t0) {}

Sequence Generator::run(std::size_t length) {
  Sequence sequence;
  const auto add = [&](Call call) {
    sequence.push_back({.now = now_, .call = std::move(call)});
    if (std::holds_alternative<LookStep>(sequence.back().call)) return;
    for (const auto& item : model_.run(sequence.back())) {
      if (const auto* lease = std::get_if<Lease>(&item)) leased_.push_back(lease->id);
    }
    pass_time();
    if (sequence.size() % look_around_every == 0) look_around();
  };
  for (std::uint32_t queue = 0; queue < queue_count; ++queue) {
    add(PutQueueStep{.settings = settings(queue), .mode = PutQueue::create});
  }
  while (sequence.size() < length) {
    add(sequence.size() % look_every == 0 ? Call(LookStep{can_.groups}) : next());
  }
  add(LookStep{can_.groups});
  return sequence;
}

// Moments of one kind at which something happens by itself: the rules are tested just before and
// after them.
std::vector<TimePoint> Generator::coming_moments() {
  std::vector<TimePoint> moments;
  const auto consider = [&](std::optional<TimePoint> moment) {
    if (moment && *moment > now_ && *moment < now_ + 1h) moments.push_back(*moment);
  };
  const auto kind = dice_.below(8);
  for (const auto& task : tasks_) {
    const auto keep = settings_of(task.queue).keep_completed.for_time.value_or(0ms);
    if (kind == 0) consider(task.start);
    if (kind == 1) consider(task.start_by);
    if (kind == 2) consider(task.lease_until);
    if (kind == 3 && task.unique) consider(task.created_at + task.unique->window);
    if (kind == 4 && task.finished_at)
      consider(*task.finished_at + own_keep(task, task.state).value_or(keep));
  }
  for (const auto& queue : queues_) {
    if (kind == 5) consider(queue.settings.paused_until);
    if (kind != 6 || !queue.settings.groups) continue;
    const auto page = model_.store().groups({.queue = queue.settings.name, .limit = 1000}, now_);
    for (const auto& group : page.value_or(GroupPage{}).groups) {
      if (!group.override) continue;
      consider(group.override->until);
      consider(group.override->paused_until);
    }
  }
  for (const auto& memo : model_.store().recall({}, now_).value_or(std::vector<Memo>{})) {
    if (kind == 7) consider(memo.expires);
  }
  return moments;
}

// Mostly a little, sometimes a lot, sometimes back, sometimes to exactly such a moment.
void Generator::pass_time() {
  const auto moments = dice_.percent(15) ? coming_moments() : std::vector<TimePoint>{};
  if (!moments.empty()) {
    now_ = dice_.pick(moments) - Duration(dice_.percent(25) ? 1 : 0);
    return;
  }
  const auto roll = dice_.below(1000);
  if (roll < 350) return;
  if (roll < 750) {
    now_ += dice_.between(1ms, 50ms);
  } else if (roll < 910) {
    now_ += dice_.between(50ms, 5s);
  } else if (roll < 970) {
    now_ += dice_.between(5s, 2min);
  } else if (roll < 982) {
    now_ += dice_.between(2min, 2h);
  } else if (roll < 985) {
    now_ += dice_.between(2h, 48h);
  } else {
    now_ -= dice_.between(1ms, 3s);
  }
}

void Generator::look_around() {
  tasks_.clear();
  ListRequest request{.limit = limits::max_page};
  if (auto page = model_.store().list(request)) tasks_ = std::move(page->tasks);
  if (auto queues = model_.store().queues(std::nullopt)) queues_ = std::move(*queues);
  if (auto all = model_.store().schedules(std::nullopt)) schedules_ = std::move(*all);
}

Call Generator::next() {
  const auto roll = dice_.below(100);
  if (roll < (tasks_.size() < crowd_ ? 22U : lonely() ? 1U : 8U)) {
    return can_.graphs && dice_.percent(12) ? Call(put_all()) : put();
  }
  if (roll < 56) return work();
  if (roll < 60) return DueStep{.limit = some_limit(10 * scale_, limits::max_due)};
  if (roll < 63) {
    return SettleDueStep{.most = dice_.between(1U, 5 * scale_), .exhaust = dice_.percent(15)};
  }
  if (roll < 69) {
    return AdvanceStep{.limit = some_limit(20 * scale_, limits::max_advance)};
  }
  return roll < 86 ? next_operation() : next_named();
}

Call Generator::next_operation() {
  const auto roll = dice_.below(100);
  if (roll < 10) return FindStep{.id = some_task(), .by_number = dice_.percent(40)};
  if (roll < 22) return list();
  if (roll < 30) {
    return CountsStep{dice_.percent(50) ? std::nullopt : std::optional(some_queue())};
  }
  if (roll < 52) return cancel();
  if (roll < 68) return RetryStep{some_tasks(dice_.percent(80) ? is_revivable : is_any)};
  if (roll < 78) return RemoveStep{some_tasks(is_any)};
  if (roll < 82) return restore();
  UpdateStep step;
  const auto most = dice_.between(1U, 3 * scale_);
  while (step.updates.size() < most) step.updates.push_back(update());
  return step;
}

// ---- Operating --------------------------------------------------------------------------------

ListStep Generator::list() {
  ListStep step;
  auto& request = step.request;
  if (dice_.percent(70)) request.queue = some_queue();
  while (dice_.percent(40)) request.states.push_back(static_cast<TaskState>(dice_.below(9)));
  if (dice_.percent(10)) request.type = dice_.word("type", 3);
  if (dice_.percent(10)) request.client_id = dice_.word("client", 3);
  if (dice_.percent(10)) request.group = some_group();
  if (dice_.percent(10)) request.tag = dice_.word("tag", 3);
  if (dice_.percent(10)) request.priority = static_cast<std::uint8_t>(dice_.below(10));
  const auto moment = [&] {
    return tasks_.empty() || dice_.percent(30) ? now_ - soon() : dice_.pick(tasks_).created_at;
  };
  if (dice_.percent(15)) request.created_from = moment();
  if (dice_.percent(15)) request.created_until = moment();
  if (graphs_ && dice_.percent(15)) request.waits_for = some_task();
  request.limit = some_limit(12 * scale_, limits::max_page);
  request.detail = dice_.percent(30) ? Detail::full : Detail::usual;
  if (dice_.percent(20)) step.before = some_task();
  return step;
}

CancelStep Generator::cancel() {
  CancelStep step;
  const auto most = dice_.between(1U, 3 * scale_);
  while (step.requests.size() < most) {
    const auto roll = dice_.below(10);
    auto& request = step.requests.emplace_back();
    request.id = task_in(roll < 5 ? is_waiting : roll < 9 ? is_running : is_any);
    if (dice_.percent(50)) request.reason = dice_.word("reason", 5);
    request.follow_ups = follow_ups(15);
  }
  return step;
}

TaskUpdate Generator::update() {
  TaskUpdate update{.id = task_in(dice_.percent(75) ? is_waiting : is_any)};
  if (dice_.percent(40)) {
    update.priority = static_cast<std::uint8_t>(dice_.below(dice_.percent(95) ? 10 : 12));
  }
  if (dice_.percent(35)) {
    update.start = dice_.percent(70) ? now_ + soon() : now_ - soon();
    if (dice_.percent(3)) update.start = later(now_, limits::max_delay + 1ms);
  }
  if (dice_.percent(25)) {
    update.release = true;
    if (dice_.percent(50)) update.answer = dice_.percent(10) ? "" : dice_.word("answer", 5);
    if (dice_.percent(2)) update.answer = std::string(limits::max_answer + 1, 'a');
    if (dice_.percent(80)) {
      update.id = task_in([](TaskState state) { return state == TaskState::created; });
    }
  }
  if (dice_.percent(1)) update.answer = "without a release";
  if (dice_.percent(25)) {
    update.queue = some_queue();
    if (dice_.percent(30)) update.id = task_in(is_revivable);
  }
  if (dice_.percent(20) || !(update.priority || update.start || update.release || update.queue)) {
    update.delivery_attempt = dice_.word("50", 4);
    if (dice_.percent(2)) update.delivery_attempt->assign(limits::max_error_text + 1, 's');
  }
  return update;
}

// ---- Picking ----------------------------------------------------------------------------------

QueueRef Generator::some_queue() {
  const auto index = scale_ > 1 && dice_.percent(60) ? 0 : dice_.below(queue_count);
  const auto roll = dice_.below(100);
  if (roll < 2) return std::string("ghost");
  if (roll < 12) return QueueNumber{static_cast<std::int64_t>(index + 1)};
  if (roll < 22) return queue_id(index + 1);
  return std::string(queue_names[index]);
}

TaskId Generator::some_task() {
  const auto roll = dice_.below(100);
  if (roll < 88 && !tasks_.empty()) return dice_.pick(tasks_).id;
  if (roll < 97 && last_task_ > 0) return task_id(dice_.between(1U, last_task_));
  return roll < 99 ? task_id(1'000'000) : TaskId{};
}

TaskId Generator::task_in(bool (*wanted)(TaskState)) {
  std::vector<TaskId> ids;
  for (const auto& task : tasks_) {
    if (wanted(task.state)) ids.push_back(task.id);
  }
  return ids.empty() ? some_task() : dice_.pick(ids);
}

std::vector<TaskId> Generator::some_tasks(bool (*wanted)(TaskState)) {
  std::vector<TaskId> ids;
  const auto most = dice_.between(1U, 3 * scale_);
  while (ids.size() < most) ids.push_back(task_in(wanted));
  return ids;
}

std::uint32_t Generator::some_limit(std::uint32_t usual, std::uint32_t most) {
  if (dice_.percent(97)) return dice_.between(1U, usual);
  return dice_.percent(30) ? 0 : most + dice_.below(2);
}

Duration Generator::soon() {
  const auto roll = dice_.below(10);
  if (roll < 1) return 0ms;
  if (roll < 5) return dice_.between(1ms, 100ms);
  if (roll < 8) return dice_.between(100ms, 5s);
  return dice_.between(5s, 3min);
}

QueueSettings Generator::settings_of(const std::string& queue) {
  for (const auto& each : queues_) {
    if (each.settings.name == queue) return each.settings;
  }
  return {};
}

}  // namespace millrace::test
