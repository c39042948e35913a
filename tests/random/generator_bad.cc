// Values that every store has to refuse: one for each refusal of core/validate.
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "core/limits.h"
#include "core/time_text.h"
#include "tests/random/generator.h"

namespace millrace::test {

using namespace std::chrono_literals;

namespace {

using Ways = std::vector<std::function<void()>>;

std::string too_long(std::size_t most) {
  return std::string(most + 1, 'x');
}

// A value that the enumeration does not have.
template <class Enum>
Enum no_such() {
  return static_cast<Enum>(std::numeric_limits<std::underlying_type_t<Enum>>::max());
}

}  // namespace

RetryRules Generator::bad_rules() {
  const std::vector<RetryRules> all = {
      {.backoff = no_such<Backoff>()},
      {.base = -1ms},
      {.base = limits::max_delay + 1ms},
      {.factor = 0.5},
      {.factor = std::numeric_limits<double>::infinity()},
      {.cap = -1ms},
      {.cap = limits::max_delay + 1ms},
      {.jitter = no_such<Jitter>()},
      {.jitter_share = -0.5},
      {.jitter_share = 1.5},
      {.retryable = no_such<Retryable>()},
  };
  return dice_.pick(all);
}

Callback Generator::bad_callback() {
  const std::string url = "https://example.org/done";
  const std::vector<Callback> all = {
      {.url = "ftp://example.org"},
      {.url = "https://example.org/a b"},
      {.url = url + too_long(limits::max_url - url.size())},
      {.url = url, .events = 0},
      {.url = url, .events = 32},
      {.url = url, .max_attempts = 0},
      {.url = url, .max_attempts = limits::max_callback_attempts + 1},
  };
  return dice_.pick(all);
}

UniqueKey Generator::bad_key() {
  const std::vector<UniqueKey> all = {
      {.key = too_long(limits::max_unique_key)},
      {.key = ""},
      {.key = "line\nbreak"},
      {.key = "\xFF no text"},
      {.key = "k", .scope = no_such<UniqueScope>()},
      {.key = "k", .scope = UniqueScope::until_finished, .window = 1s},
      {.key = "k", .scope = UniqueScope::window},
      {.key = "k", .scope = UniqueScope::window, .window = limits::max_delay + 1ms},
      {.key = "k", .on_conflict = no_such<OnConflict>()},
      {.key = "k", .on_conflict = OnConflict::replace, .max_delay = 1s},
      {.key = "k", .on_conflict = OnConflict::postpone, .max_delay = 0ms},
      {.key = "k", .on_conflict = OnConflict::postpone, .max_delay = limits::max_delay + 1ms},
      {.key = "k", .scope = UniqueScope::window, .window = 1s, .on_conflict = OnConflict::replace},
  };
  return dice_.pick(all);
}

TaskError Generator::bad_error() {
  const std::vector<TaskError> all = {
      {.code = too_long(limits::max_error_code)},
      {.message = too_long(limits::max_error_text)},
      {.details = too_long(limits::max_error_text)},
      {.stack = too_long(limits::max_error_text)},
  };
  return dice_.pick(all);
}

void Generator::spoil(NewTask& task) {
  const Ways ways = {
      [&] { task.id = {}; },
      [&] { task.priority = limits::max_priority + 1; },
      [&] { task.start = now_, task.delay = 1s; },
      [&] { task.delay = -1ms, task.start.reset(); },
      [&] { task.delay = limits::max_delay + 1ms, task.start.reset(); },
      [&] { task.start = now_ + limits::max_delay + 1ms, task.delay.reset(); },
      [&] { task.start_by = now_ + limits::max_delay + 1ms; },
      [&] { task.start = now_ + 5s, task.delay.reset(), task.start_by = now_ + 4999ms; },
      [&] { task.type = too_long(limits::max_name); },
      [&] { task.type = "no spaces"; },
      [&] { task.tags.assign(limits::max_tags + 1, "tag"); },
      [&] { task.tags = {""}; },
      [&] { task.tags = {too_long(limits::max_tag)}; },
      [&] { task.tags = {"line\nbreak"}; },
      [&] { task.unique = bad_key(); },
      [&] { task.unique = bad_key(); },
      [&] { task.unique = bad_key(); },
      [&] { task.keep_for = -1ms; },
      [&] { task.keep_for = limits::max_delay + 1ms; },
      [&] { task.keep_for.reset(), task.keep_dead = Keep{}; },
      [&] { task.keep_for.reset(), task.keep_completed = Keep{.for_time = 1s, .last = 5}; },
      [&] { task.keep_for.reset(), task.keep_dead = Keep{.for_time = -1ms}; },
      [&] { task.keep_for = 1s, task.keep_dead = Keep{.for_time = 1s}; },
      [&] { task.timeout = 0ms; },
      [&] { task.timeout = limits::max_delay + 1ms; },
      [&] { task.payload = too_long(limits::usual_task_size); },
      [&] { task.metadata = too_long(limits::max_metadata); },
      [&] { task.client_id = too_long(limits::max_label); },
      [&] { task.request_id = "\x7F"; },
      [&] { task.group = too_long(limits::max_label); },
      [&] { task.content_type = "text\tplain"; },
      [&] { task.client_id = "\xFF no text"; },
      [&] { task.retry = bad_rules(); },
      [&] { task.retry = bad_rules(); },
      [&] { task.retry = bad_rules(); },
      [&] { task.callback = bad_callback(); },
      [&] { task.callback = bad_callback(); },
      [&] { task.queue = std::string("bad name"); },
      [&] { task.queue = QueueNumber{-1}; },
      [&] { task.queue = Uuid{}; },
  };
  dice_.pick(ways)();
}

void Generator::spoil(SettlePart& part) {
  Settlement& settlement = part.settlement;
  const auto any_event = [&] { settlement.event = static_cast<Event>(dice_.below(event_count)); };
  const Ways ways = {
      [&] { settlement.result = too_long(limits::usual_task_size); },
      [&] { settlement.id = {}; },
      [&] {
        settlement.counters = {dice_.below(9), dice_.below(9), dice_.below(9), dice_.below(9)};
      },
      [&] { settlement.ready = now_ + limits::max_delay + dice_.between(0ms, 2s); },
      [&] { settlement.ready = last_time + 1ms; },
      [&] { settlement.error = bad_error(); },
      any_event,
      any_event,
  };
  dice_.pick(ways)();
}

void Generator::spoil(TakeRequest& request) {
  const Ways ways = {
      [&] { request.queues.clear(); },
      [&] { request.queues.front().queue = QueueNumber{-1}; },
      [&] { request.queues.front().queue = Uuid{}; },
      [&] { request.queues.front().most = 0; },
      [&] { request.queues.front().most = limits::max_batch + 1; },
      [&] { request.worker = too_long(limits::max_label); },
      [&] { request.worker = "line\nbreak"; },
      [&] { request.lease = limits::min_lease - 1ms; },
      [&] { request.lease = limits::max_lease + 1ms; },
  };
  dice_.pick(ways)();
}

void Generator::spoil(QueueSettings& settings) {
  const Ways ways = {
      [&] { settings.name = "bad name"; },
      [&] { settings.number = QueueNumber{-1}; },
      [&] { settings.description = too_long(limits::max_description); },
      [&] { settings.max_concurrent = 0; },
      [&] { settings.max_depth = 0; },
      [&] { settings.put_rate = Rate{.max = 0}; },
      [&] { settings.process_rate = Rate{.max = 1, .per = limits::max_rate_per + 1ms}; },
      [&] { settings.priority = limits::max_priority + 1; },
      [&] { settings.weight = 0; },
      [&] { settings.weight = limits::max_weight + 1; },
      [&] { settings.ageing = 0ms; },
      [&] { settings.lease = 10ms; },
      [&] { settings.timeout = 0ms; },
      [&] { settings.batch_size = 0; },
      [&] { settings.batch_size = limits::max_batch + 1; },
      [&] { settings.retry = bad_rules(); },
      [&] { settings.types = {{.type = "twice"}, {.type = "twice"}}; },
      [&] { settings.keep_dead.for_time = -1ms; },
      [&] { settings.dead_letter_queue = "$internal"; },
  };
  dice_.pick(ways)();
}

void Generator::spoil(GroupRules& rules) {
  const Ways ways = {
      [&] { rules.max_concurrent = 0; },
      [&] { rules.max_concurrent = 2, rules.order = GroupOrder::serial; },
      [&] { rules.process_rate = Rate{.max = 0}; },
      [&] { rules.max_depth = 0; },
      [&] { rules.weight = 0; },
      [&] { rules.weight = limits::max_weight + 1; },
  };
  dice_.pick(ways)();
}

void Generator::spoil(PutGroup& change) {
  change.now.emplace(GroupOverride{.weight = 2});
  const Ways ways = {
      [&] { change.name.clear(); },
      [&] { change.name = too_long(limits::max_label); },
      [&] { change.name = "line\nbreak"; },
      [&] { change.now->max_concurrent = 0; },
      [&] { change.now->process_rate = Rate{.max = 0}; },
      [&] { change.now->max_depth = 0; },
      [&] { change.now->weight = 0; },
      [&] { change.now->weight = limits::max_weight + 1; },
      [&] { change.now->paused_until = last_time + 1ms; },
      [&] { change.now->until = last_time + 1ms; },
  };
  dice_.pick(ways)();
}

void Generator::spoil(Schedule& schedule) {
  const Ways ways = {
      [&] { schedule.name = "bad name"; },
      [&] { schedule.rule.cron.clear(), schedule.rule.every = 0ms; },
      [&] { schedule.rule.cron = "* * * * *", schedule.rule.every = 1s; },
      [&] { schedule.rule.cron = too_long(limits::max_cron), schedule.rule.every = 0ms; },
      [&] { schedule.rule.zone = too_long(limits::max_zone); },
      [&] { schedule.rule.cron.clear(), schedule.rule.every = limits::min_every - 1ms; },
      [&] { schedule.rule.dst = no_such<DstPolicy>(); },
      [&] { schedule.overlap = no_such<Overlap>(); },
      [&] { schedule.missed = no_such<Missed>(); },
      [&] { schedule.missed_most = 0; },
      [&] { schedule.missed_most = limits::max_missed + 1; },
      [&] { schedule.jitter = limits::max_schedule_jitter + 1ms; },
      [&] { schedule.task.start = now_; },
  };
  dice_.pick(ways)();
}

}  // namespace millrace::test
