#include "tests/support/print.h"

#include <array>
#include <functional>
#include <string_view>

#include "core/transition.h"
#include "core/uuid.h"
#include "tests/support/builders.h"

namespace millrace {

namespace {

// Long texts are shown by size and hash: equal texts look equal, and no payload fills the screen.
std::string text_of(const std::string& text) {
  constexpr std::size_t most = 80;
  if (text.size() <= most) return ::testing::PrintToString(text);
  return "(" + std::to_string(text.size()) + " bytes, hash " +
         std::to_string(std::hash<std::string>{}(text)) + ")";
}

template <class T>
std::string text_of(const T& value) {
  return ::testing::PrintToString(value);
}

// Writes Name{field=value, …} and leaves out what is empty, zero or false.
class Record {
 public:
  Record(std::ostream* os, std::string_view name) : os_(*os) { os_ << name << '{'; }
  ~Record() { os_ << '}'; }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  template <class T>
  Record& operator()(std::string_view field, const T& value) {
    if (value == T{}) return *this;
    os_ << separator_ << field << '=' << text_of(value);
    separator_ = ", ";
    return *this;
  }

 private:
  std::ostream& os_;
  std::string_view separator_;
};

// The fields that Task and Lease have in common.
template <class T>
void common_fields(Record& record, const T& task) {
  record("id", task.id)("number", task.number)("queue", task.queue)("type", task.type);
  record("payload", task.payload)("content_type", task.content_type);
  record("priority", static_cast<unsigned>(task.priority))("counters", task.counters);
  record("created_at", task.created_at)("start", task.start);
  record("previous_start", task.previous_start)("start_by", task.start_by);
  record("timeout", task.timeout)("max_lost", task.max_lost)("retry", task.retry);
  record("unique", task.unique)("callback", task.callback)("keep_for", task.keep_for);
  record("keep_completed", task.keep_completed)("keep_dead", task.keep_dead);
  record("client_id", task.client_id)("request_id", task.request_id)("group", task.group);
  record("metadata", task.metadata)("tags", task.tags)("parent", task.parent);
  record("after", task.after)("checkpoint", task.checkpoint)("answer", task.answer);
  record("cost", task.cost == 1 ? 0 : task.cost);
}

template <class Enum, std::size_t n>
void name(Enum value, const std::array<std::string_view, n>& names, std::ostream* os) {
  const auto index = static_cast<std::size_t>(value);
  *os << (index < n ? names[index] : "unknown");
}

}  // namespace

namespace test {

std::string to_text(Duration duration) {
  using namespace std::chrono;
  if (duration < Duration::zero() && duration != Duration::min()) return "-" + to_text(-duration);
  std::string text;
  const auto part = [&](auto unit, std::string_view suffix) {
    const auto whole = duration_cast<decltype(unit)>(duration);
    if (whole.count() != 0) text += std::to_string(whole.count()) + std::string(suffix);
    duration -= whole;
  };
  part(hours{}, "h");
  part(minutes{}, "m");
  part(seconds{}, "s");
  part(milliseconds{}, "ms");
  return text.empty() ? "0s" : text;
}

std::string to_text(TimePoint moment) {
  if (moment == never) return "never";
  if (moment == TimePoint{}) return "1970";
  if (moment == t0) return "t0";
  return moment < t0 ? "t0-" + to_text(t0 - moment) : "t0+" + to_text(moment - t0);
}

}  // namespace test

void PrintTo(const Uuid& id, std::ostream* os) {
  *os << to_text(id);
}
void PrintTo(const TaskId& id, std::ostream* os) {
  *os << "task-" << to_text(id.value);
}
void PrintTo(ErrorCode code, std::ostream* os) {
  *os << name_of(code);
}
void PrintTo(TaskState state, std::ostream* os) {
  *os << name_of(state);
}
void PrintTo(Event event, std::ostream* os) {
  *os << name_of(event);
}

void PrintTo(const Error& error, std::ostream* os) {
  *os << name_of(error.code) << ": " << error.message;
  if (error.retry_after) *os << " (retry after " << test::to_text(*error.retry_after) << ")";
}

void PrintTo(SettleStatus status, std::ostream* os) {
  name(status, std::array<std::string_view, 3>{"applied", "already", "cancel_requested"}, os);
}

void PrintTo(UniqueScope scope, std::ostream* os) {
  name(scope, std::array<std::string_view, 3>{"until_started", "until_finished", "window"}, os);
}

void PrintTo(Overlap overlap, std::ostream* os) {
  name(overlap, std::array<std::string_view, 3>{"skip", "queue", "allow"}, os);
}

void PrintTo(const Counters& counters, std::ostream* os) {
  Record(os, "Counters")("deliveries", counters.deliveries)("attempts", counters.attempts)(
      "retries", counters.retries)("lost", counters.lost);
}

void PrintTo(const UniqueKey& unique, std::ostream* os) {
  *os << unique.key << ' ';
  PrintTo(unique.scope, os);
  if (unique.scope == UniqueScope::window) *os << ' ' << test::to_text(unique.window);
  if (unique.on_conflict == OnConflict::replace) *os << " replace";
  if (unique.on_conflict == OnConflict::postpone) *os << " postpone";
  if (unique.max_delay) *os << " at most " << test::to_text(*unique.max_delay);
}

void PrintTo(const After& after, std::ostream* os) {
  *os << ::testing::PrintToString(after.tasks) << " when " << unsigned(after.when) << " otherwise "
      << unsigned(after.otherwise);
}

void PrintTo(const EndedParent& parent, std::ostream* os) {
  *os << to_text(parent.id.value) << " is " << name_of(parent.state);
}

void PrintTo(const Callback& callback, std::ostream* os) {
  *os << callback.url << " events " << unsigned{callback.events} << " at most "
      << callback.max_attempts;
}

void PrintTo(const Keep& keep, std::ostream* os) {
  Record(os, "Keep")("for_time", keep.for_time)("last", keep.last);
}

void PrintTo(const TaskError& error, std::ostream* os) {
  Record(os, "TaskError")("code", error.code)("message", error.message)("details", error.details)(
      "stack", error.stack)("failed_at", error.failed_at);
}

void PrintTo(const Attempt& attempt, std::ostream* os) {
  Record record(os, "Attempt");
  record("started_at", attempt.started_at)("ended_at", attempt.ended_at);
  record("event", ::testing::PrintToString(attempt.event))("worker", attempt.worker);
  record("error_code", attempt.error_code)("error_message", attempt.error_message);
}

void PrintTo(const LogLine& line, std::ostream* os) {
  *os << test::to_text(line.at) << ' ' << text_of(line.text);
}

void PrintTo(const DeliveryNote& note, std::ostream* os) {
  *os << note.attempts << " attempts, " << text_of(note.last_status);
}

void PrintTo(const NewTask& task, std::ostream* os) {
  Record(os, "NewTask")("id", task.id)("queue", task.queue)("type", task.type)(
      "payload", task.payload)("priority", static_cast<unsigned>(task.priority))("held", task.held)(
      "start", task.start)("delay", task.delay)("start_by", task.start_by)("unique", task.unique)(
      "keep_for", task.keep_for)("tags", task.tags)("group", task.group)(
      "cost", task.cost == 1 ? 0 : task.cost)("after", task.after);
}

void PrintTo(const Task& task, std::ostream* os) {
  Record record(os, "Task");
  record("state", std::string(name_of(task.state)))("version", task.version);
  common_fields(record, task);
  record("cancel_requested", task.cancel_requested)("updated_at", task.updated_at);
  record("waits_for", task.waits_for);
  record("started_at", task.started_at)("finished_at", task.finished_at);
  record("lease_until", task.lease_until)("worker", task.worker)("result", task.result);
  record("error", task.error)("progress", task.progress)("delivery", task.delivery);
  record("log", task.log)("history", task.history);
}

void PrintTo(const Lease& lease, std::ostream* os) {
  Record record(os, "Lease");
  record("token", lease.token)("until", lease.until)("started_at", lease.started_at);
  common_fields(record, lease);
}

void PrintTo(const Rate& rate, std::ostream* os) {
  *os << rate.max << " per " << test::to_text(rate.per);
}

void PrintTo(const RetryRules& rules, std::ostream* os) {
  Record record(os, "RetryRules");
  if (rules.backoff) record("backoff", std::to_string(static_cast<int>(*rules.backoff)));
  record("base", rules.base)("factor", rules.factor)("cap", rules.cap);
  if (rules.jitter) record("jitter", std::to_string(static_cast<int>(*rules.jitter)));
  record("jitter_share", rules.jitter_share)("cap_after_jitter", rules.cap_after_jitter);
  record("max_retries", rules.max_retries);
  if (rules.retryable) record("retryable", std::to_string(static_cast<int>(*rules.retryable)));
}

void PrintTo(const TypePolicy& policy, std::ostream* os) {
  Record(os, "TypePolicy")("type", policy.type)("retry", policy.retry)("timeout", policy.timeout)(
      "max_lost", policy.max_lost)("keep_completed", policy.keep_completed)("keep_dead",
                                                                            policy.keep_dead);
}

void PrintTo(RateOf counts, std::ostream* os) {
  name(counts, std::array<std::string_view, 2>{"tasks", "cost"}, os);
}

void PrintTo(GroupOrder order, std::ostream* os) {
  name(order, std::array<std::string_view, 3>{"arrival", "fair", "serial"}, os);
}

void PrintTo(const GroupRules& rules, std::ostream* os) {
  Record record(os, "GroupRules");
  record("order", ::testing::PrintToString(rules.order))("max_concurrent", rules.max_concurrent);
  record("process_rate", rules.process_rate)("rate_of", rules.rate_of);
  record("max_depth", rules.max_depth)("weight", rules.weight);
  record("passes_over", !rules.retry_holds);
}

void PrintTo(const GroupOverride& override, std::ostream* os) {
  Record record(os, "GroupOverride");
  record("max_concurrent", override.max_concurrent)("process_rate", override.process_rate);
  record("max_depth", override.max_depth)("weight", override.weight);
  record("paused_until", override.paused_until)("until", override.until);
}

void PrintTo(const Group& group, std::ostream* os) {
  Record record(os, "Group");
  record("queue", group.queue)("name", group.name)("waiting", group.waiting);
  record("ready", group.ready)("running", group.running)("oldest", group.oldest);
  record("override", group.override);
}

void PrintTo(const GroupPage& page, std::ostream* os) {
  Record(os, "GroupPage")("groups", page.groups)("next", page.next);
}

void PrintTo(const QueueSettings& settings, std::ostream* os) {
  Record record(os, "QueueSettings");
  record("name", settings.name)("number", settings.number)("id", settings.id);
  record("description", settings.description)("active", settings.active);
  record("draining", settings.draining)("paused_until", settings.paused_until);
  record("max_concurrent", settings.max_concurrent)("max_depth", settings.max_depth);
  record("put_rate", settings.put_rate)("process_rate", settings.process_rate);
  record("rate_of", settings.rate_of)("max_task_size", settings.max_task_size);
  record("groups", settings.groups);
  record("priority", static_cast<unsigned>(settings.priority))("weight", settings.weight);
  record("ageing", settings.ageing)("lease", settings.lease)("timeout", settings.timeout);
  record("batch_size", settings.batch_size)("max_lost", settings.max_lost);
  record("dead_letter_queue", settings.dead_letter_queue);
  record("retry", settings.retry)("types", settings.types);
  record("dead_letters", settings.dead_letters);
  record("keep_completed", settings.keep_completed)("keep_dead", settings.keep_dead);
}

void PrintTo(const Queue& queue, std::ostream* os) {
  Record(os, "Queue")("settings", queue.settings)("created_at", queue.created_at)(
      "updated_at", queue.updated_at)("removing", queue.removing);
}

void PrintTo(const QueueCounts& counts, std::ostream* os) {
  Record record(os, "QueueCounts");
  record("queue", counts.queue)("number", counts.number)("oldest", counts.oldest);
  for (std::size_t state = 0; state < state_count; ++state) {
    record(name_of(static_cast<TaskState>(state)), counts.by[state]);
  }
}

void PrintTo(const TickRule& rule, std::ostream* os) {
  Record(os, "TickRule")("cron", rule.cron)("zone", rule.zone)("every", rule.every)("anchor",
                                                                                    rule.anchor);
}

void PrintTo(const Schedule& schedule, std::ostream* os) {
  Record record(os, "Schedule");
  record("name", schedule.name)("rule", schedule.rule)("task", schedule.task);
  record("overlap", ::testing::PrintToString(schedule.overlap))("paused", schedule.paused);
  record("next", schedule.next)("last", schedule.last)("last_task", schedule.last_task);
  record("fired", schedule.fired)("skipped", schedule.skipped);
  record("created_at", schedule.created_at)("updated_at", schedule.updated_at);
}

void PrintTo(const Put& put, std::ostream* os) {
  Record(os, "Put")("id", put.id)("number", put.number)(
      "state", put.state ? std::string(name_of(*put.state)) : "gone")("existing", put.existing)(
      "replaced", put.replaced)("queue", put.queue);
}

void PrintTo(const Settled& settled, std::ostream* os) {
  PrintTo(settled.status, os);
  *os << ", now " << name_of(settled.state);
}

void PrintTo(const Extended& extended, std::ostream* os) {
  *os << "until " << test::to_text(extended.until)
      << (extended.cancel_requested ? ", cancel requested" : "");
}

void PrintTo(const Held& expect, std::ostream* os) {
  *os << "Held" << ::testing::PrintToString(expect.token);
}

void PrintTo(const Lost& expect, std::ostream* os) {
  *os << "Lost" << ::testing::PrintToString(expect.token) << " until "
      << test::to_text(expect.until);
}

void PrintTo(const Unchanged& expect, std::ostream* os) {
  *os << "Unchanged" << ::testing::PrintToString(expect.version);
}

void PrintTo(const Overdue& overdue, std::ostream* os) {
  Record(os, "Overdue")("lease", overdue.lease)("expect", overdue.expect)(
      "cancel_requested", overdue.cancel_requested)("parent", overdue.parent);
}

void PrintTo(const Advanced& advanced, std::ostream* os) {
  Record(os, "Advanced")("promoted", advanced.promoted)("removed", advanced.removed)(
      "lifted", advanced.lifted)("more", advanced.more)("next", advanced.next);
}

void PrintTo(const Memo& memo, std::ostream* os) {
  Record(os, "Memo")("key", memo.key)("value", memo.value)("version", memo.version)("expires",
                                                                                    memo.expires);
}

void PrintTo(const TaskPage& page, std::ostream* os) {
  Record(os, "TaskPage")("tasks", page.tasks)("next", page.next)("looked_at", page.looked_at);
}

void PrintTo(const WorkResult& result, std::ostream* os) {
  Record(os, "WorkResult")("settled", result.settled)("extended", result.extended)(
      "taken", result.taken)("more", result.more);
}

void PrintTo(const Fired& fired, std::ostream* os) {
  Record(os, "Fired")("put", fired.put)("schedule", fired.schedule);
}

}  // namespace millrace
