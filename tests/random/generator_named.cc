// Queues, schedules, memos.
#include "core/limits.h"
#include "store/store.h"
#include "tests/random/describe.h"
#include "tests/random/generator.h"

namespace millrace::test {

using namespace std::chrono_literals;

Call Generator::next_named() {
  const auto queue = dice_.below(queue_count);
  const auto all = dice_.percent(50);
  const auto roll = dice_.below(100);
  if (can_.groups && dice_.percent(25)) return dice_.percent(70) ? Call(put_group()) : groups();
  if (roll < 22) return put_queue(queue);
  if (roll < 26) return QueuesStep{all ? std::nullopt : std::optional(some_queue())};
  if (roll < 30) return RemoveQueueStep{.queue = some_queue(), .force = dice_.percent(40)};
  if (roll < 33) {
    return ClearStep{.queue = some_queue(), .limit = some_limit(5 * scale_, limits::max_advance)};
  }
  if (roll < 41) return put_schedule();
  const auto tick = dice_.percent(95) ? dice_.word("tick", 4) : bytes();
  if (roll < 43) return RemoveScheduleStep{tick};
  if (roll < 46) return SchedulesStep{all ? std::nullopt : std::optional(tick)};
  if (roll < 66) return fire();
  if (roll < 86) return remember();
  if (roll < 97) {
    return RecallStep{{.prefix = dice_.percent(30) ? dice_.word("memo", 2) : "",
                       .after = dice_.percent(30) ? dice_.word("memo", 4) : "",
                       .limit = some_limit(8, limits::max_page)}};
  }
  return WaitStep{};
}

// ---- Queues -----------------------------------------------------------------------------------

PutQueueStep Generator::put_queue(std::uint32_t queue) {
  PutQueueStep step{.settings = settings(queue)};
  if (dice_.percent(25)) step.mode = PutQueue::create;
  if (dice_.percent(60)) return step;
  for (const Queue& each : queues_) {
    if (each.settings.name == queue_names[queue]) step.mode = PutQueue::changed(each);
  }
  if (step.mode.seen && dice_.percent(20)) step.mode.seen->updated_at += Duration(1);
  if (step.mode.seen && dice_.percent(5)) step.mode.seen->id = queue_id(dice_.between(1U, 4U));
  return step;
}

QueueSettings Generator::settings(std::uint32_t queue) {
  QueueSettings settings{.name = queue_names[queue]};
  if (queue < 2) settings.number = QueueNumber{static_cast<std::int64_t>(queue + 1)};
  settings.id = queue_id(queue + 1);
  if (dice_.percent(10)) settings.number = QueueNumber{dice_.below(4)};
  if (dice_.percent(8)) settings.id = {};
  if (dice_.percent(3)) settings.id = queue_id(dice_.between(1U, 4U));
  if (dice_.percent(5)) settings.active = false;
  if (dice_.percent(5)) settings.draining = true;
  if (dice_.percent(8)) settings.paused_until = dice_.percent(80) ? now_ + soon() : never;
  add_limits(settings);
  if (dice_.percent(25)) settings.ageing = 1ms + soon();
  if (dice_.percent(30)) settings.lease = dice_.between(1s, 2min);
  if (dice_.percent(15)) settings.timeout = dice_.between(1s, 60s);
  if (dice_.percent(15)) settings.max_lost = dice_.below(3);
  if (dice_.percent(25)) settings.retry.max_retries = dice_.below(4);
  if (dice_.percent(15)) {
    settings.types.push_back({.type = dice_.word("type", 3), .timeout = dice_.between(1s, 60s)});
    if (dice_.percent(30)) settings.types.back().retry.max_retries = dice_.below(4);
    if (dice_.percent(30)) settings.types.back().keep_completed = Keep{.for_time = soon()};
    if (dice_.percent(30)) settings.types.back().keep_dead = Keep{.for_time = soon()};
  }
  if (dice_.percent(5)) settings.dead_letters = false;
  if (dice_.percent(12)) {
    settings.dead_letter_queue =
        dice_.percent(95) ? queue_names[dice_.below(queue_count)] : "ghost";
  }
  if (dice_.percent(40)) settings.keep_completed = keep();
  if (dice_.percent(40)) settings.keep_dead = keep();
  if (dice_.percent(10)) settings.description = dice_.word("description", 9) + odd_text();
  if (dice_.percent(15)) settings.priority = static_cast<std::uint8_t>(dice_.below(10));
  if (dice_.percent(10)) settings.weight = dice_.between(1U, limits::max_weight);
  if (dice_.percent(10)) settings.batch_size = dice_.between(1U, 1000U);
  if (dice_.percent(5)) spoil(settings);
  return settings;
}

void Generator::add_limits(QueueSettings& settings) {
  if (dice_.percent(30)) settings.max_concurrent = dice_.between(1U, 4U);
  if (dice_.percent(20)) settings.max_depth = dice_.between(2U, 12U);
  if (dice_.percent(10)) settings.max_task_size = dice_.percent(80) ? 1024 : 1U << 24U;
  if (dice_.percent(12)) settings.put_rate = rate();
  if (dice_.percent(20)) settings.process_rate = rate();
  if (!can_.groups) return;
  if (dice_.percent(settings.process_rate ? 50 : 5)) settings.rate_of = RateOf::cost;
  if (dice_.percent(55)) settings.groups = group_rules();
}

Rate Generator::rate() {
  return {.max = dice_.between(1U, 6U), .per = dice_.between(10ms, 10s)};
}

// ---- Groups -----------------------------------------------------------------------------------

GroupRules Generator::group_rules() {
  GroupRules rules{.order = static_cast<GroupOrder>(dice_.below(3))};
  if (dice_.percent(40)) {
    rules.max_concurrent =
        rules.order == GroupOrder::serial ? 1 : dice_.between(1U, dice_.percent(80) ? 2U : 4U);
  }
  if (dice_.percent(25)) rules.process_rate = rate();
  if (dice_.percent(50)) rules.rate_of = RateOf::cost;
  if (dice_.percent(15)) rules.max_depth = dice_.between(1U, 5U);
  if (dice_.percent(25)) rules.weight = dice_.between(1U, 5U);
  if (dice_.percent(35)) rules.retry_holds = false;
  if (dice_.percent(3)) spoil(rules);
  return rules;
}

std::string Generator::some_group() {
  return dice_.percent(96) ? dice_.word("group", 3) : odd_text();
}

PutGroupStep Generator::put_group() {
  PutGroup change{.queue = some_queue(), .name = some_group()};
  std::optional<GroupOverride> stored;
  const auto page = model_.store().groups({.queue = change.queue, .name = change.name}, now_);
  if (page && !page->groups.empty()) stored = page->groups.front().override;
  change.seen = stored;
  if (dice_.percent(8)) change.seen = group_override();
  if (dice_.percent(4)) change.seen.reset();
  if (dice_.percent(75)) change.now = group_override();
  if (dice_.percent(4)) spoil(change);
  return {change};
}

GroupOverride Generator::group_override() {
  GroupOverride override;
  if (dice_.percent(35)) override.max_concurrent = dice_.between(1U, 4U);
  if (dice_.percent(20)) override.process_rate = rate();
  if (dice_.percent(15)) override.max_depth = dice_.between(1U, 6U);
  if (dice_.percent(35)) override.weight = dice_.between(1U, 9U);
  if (dice_.percent(20)) override.paused_until = dice_.percent(70) ? now_ + soon() : never;
  if (dice_.percent(40)) override.until = dice_.percent(90) ? now_ + soon() : now_ - soon();
  return override;
}

GroupsStep Generator::groups() {
  GroupsStep step{{.queue = some_queue(), .limit = some_limit(4, limits::max_page)}};
  if (dice_.percent(40)) step.request.name = dice_.percent(97) ? some_group() : "";
  return step;
}

Keep Generator::keep() {
  const std::vector<Duration> times = {0ms, 10ms, 1s, 1min, 1h};
  Keep keep;
  if (dice_.percent(50)) keep.for_time = dice_.pick(times);
  if (dice_.percent(50)) keep.last = dice_.below(5);
  return keep;
}

// ---- Schedules --------------------------------------------------------------------------------

PutScheduleStep Generator::put_schedule() {
  PutScheduleStep step{.schedule = schedule()};
  if (dice_.percent(25)) step.mode = PutSchedule::create;
  if (dice_.percent(40)) return step;
  for (const Schedule& each : schedules_) {
    if (each.name == step.schedule.name) step.mode = PutSchedule::changed(each);
  }
  if (step.mode.seen && dice_.percent(10)) step.mode.seen->updated_at += Duration(1);
  if (step.mode.seen && dice_.percent(10)) step.mode.seen->next += Duration(1);
  return step;
}

Schedule Generator::schedule() {
  Schedule schedule{.name = dice_.word("tick", 4), .rule = {}, .task = new_task()};
  schedule.rule.every = dice_.between(100ms, 10s);
  schedule.rule.anchor = now_;
  if (dice_.percent(25)) {
    schedule.rule = {.cron = "*/5 3 * * 1-5", .zone = dice_.percent(50) ? "UTC" : "Europe/Berlin"};
    schedule.rule.dst = static_cast<DstPolicy>(dice_.below(3));
  }
  if (dice_.percent(20)) schedule.missed = static_cast<Missed>(dice_.below(3));
  if (dice_.percent(20)) schedule.missed_most = dice_.between(1U, limits::max_missed);
  if (dice_.percent(20)) schedule.jitter = soon();
  schedule.task.id = {};
  if (schedule.task.after && !dice_.percent(5)) schedule.task.after.reset();
  schedule.task.start.reset();
  schedule.task.start_by.reset();
  schedule.overlap = static_cast<Overlap>(dice_.below(3));
  schedule.paused = dice_.percent(5);
  schedule.next = now_ + soon();
  // Fields that belong to the store, which has to ignore them.
  if (dice_.percent(10)) schedule.fired = 99;
  if (dice_.percent(5)) spoil(schedule);
  return schedule;
}

FireStep Generator::fire() {
  FireStep step;
  auto& tick = step.tick;
  tick.schedule = dice_.word("tick", 4);
  tick.task = new_task();
  tick.task.after.reset();
  const auto schedules = model_.store().schedules(std::nullopt);
  if (schedules && !schedules->empty() && dice_.percent(95)) {
    const auto& schedule = dice_.pick(*schedules);
    tick.schedule = schedule.name;
    tick.nominal = schedule.next;
    tick.next = schedule.next + (schedule.rule.cron.empty() ? schedule.rule.every : Duration(5min));
    if (dice_.percent(70)) tick.task.queue = schedule.task.queue;
  }
  if (dice_.percent(2)) tick.next = tick.nominal;
  if (dice_.percent(1)) tick.schedule = bytes();
  if (dice_.percent(15)) tick.nominal += dice_.between(-1s, 1s);
  return step;
}

// ---- Memos ------------------------------------------------------------------------------------

RememberStep Generator::remember() {
  RememberStep step;
  auto& request = step.request;
  request.key = dice_.word("memo", 5);
  if (dice_.percent(80)) request.value = dice_.word("value", 100);
  if (dice_.percent(30)) request.lifetime = 1ms + soon();
  step.expected = static_cast<VersionPick>(dice_.below(4));
  const auto roll = dice_.below(100);
  if (roll == 0) request.key.clear();
  if (roll == 1) request.key = std::string(limits::max_memo_key + dice_.below(2), 'm');
  if (roll == 2) request.lifetime = Duration::zero();
  if (roll == 3) request.value = std::string(limits::max_memo_value + 1, 'v');
  return step;
}

}  // namespace millrace::test
