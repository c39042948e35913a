#include "core/validate.h"

#include "core/ascii.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace millrace {
namespace {

constexpr std::array<bool, 256> make_name_characters() {
  std::array<bool, 256> table{};
  for (unsigned char c = 'a'; c <= 'z'; ++c) table[c] = true;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) table[c] = true;
  for (unsigned char c = '0'; c <= '9'; ++c) table[c] = true;
  for (unsigned char c : {'.', '_', ':', '-'}) table[c] = true;
  return table;
}
constexpr std::array<bool, 256> name_characters = make_name_characters();

// The first character from `from` on that no name may have; name.size() if there is none.
inline std::size_t bad_character(std::string_view name, std::size_t from) {
  while (from < name.size() && name_characters[static_cast<unsigned char>(name[from])]) ++from;
  return from;
}

// Out of line: only refusals pay for their message.
[[gnu::cold]] std::unexpected<Error> bad_name(const What& what, std::string_view name,
                                              std::size_t from, std::size_t bad) {
  std::string problem = fmt::format("{} is empty", what.words);
  if (bad < name.size()) {
    const char c = name[bad];
    const std::string shown =
        c >= ' ' && c <= '~' ? fmt::format("'{}'", c) : in_quotes(name.substr(bad, 1));
    problem =
        fmt::format("{} {} has {} at position {}", what.words, in_quotes(name), shown, bad + 1);
  } else if (name.size() > limits::max_name) {
    problem = fmt::format("{} {} has {} characters", what.words, in_quotes(name), name.size());
  } else if (from > 0) {
    problem = fmt::format("{} {} has nothing after its '$'", what.words, in_quotes(name));
  }
  return fail(ErrorCode::invalid,
              fmt::format("{}; allowed are A-Z a-z 0-9 . _ : - (1 to {} of them)", problem,
                          limits::max_name),
              std::string(what.field));
}

inline Result<void> check_name(const What& what, std::string_view name, bool internal_allowed) {
  const std::size_t from = internal_allowed && name.starts_with('$') ? 1 : 0;
  const std::size_t bad = bad_character(name, from);
  if (bad == name.size() && bad > from && bad <= limits::max_name) [[likely]]
    return {};
  return bad_name(what, name, from, bad);
}

inline Result<void> check_queue(const QueueRef& queue) {
  if (const auto* name = std::get_if<std::string>(&queue)) [[likely]] {
    return check_name({"queue name", "queue"}, *name, true);
  }
  if (const auto* number = std::get_if<QueueNumber>(&queue)) {
    return check::queue_number({"queue number", "queue"}, *number);
  }
  if (!std::get<Uuid>(queue).is_nil()) return {};
  return fail(ErrorCode::invalid, "queue id is nil; allowed are a name, a number or a UUID",
              "queue");
}

Result<void> check_tag(std::string_view tag) {
  if (tag.empty()) {
    return fail(ErrorCode::invalid,
                fmt::format("a tag is empty; allowed are 1 to {} bytes", limits::max_tag));
  }
  return check::text({"tag", ""}, tag, limits::max_tag);
}

Result<void> check_labels(const NewTask& task) {
  if (auto ok = check::text({"content type", "content_type"}, task.content_type, limits::max_label);
      !ok)
    return ok;
  if (auto ok = check::text({"client id", "client_id"}, task.client_id, limits::max_label); !ok)
    return ok;
  if (auto ok = check::text({"request id", "request_id"}, task.request_id, limits::max_label); !ok)
    return ok;
  if (auto ok = check::text("group", task.group, limits::max_label); !ok) return ok;
  if (auto ok = check::count("tags", task.tags.size(), limits::max_tags); !ok) return ok;
  for (std::size_t i = 0; i < task.tags.size(); ++i) {
    if (auto ok = check_tag(task.tags[i]); !ok) {
      return inside(fmt::format("tags[{}]", i), std::move(ok));
    }
  }
  return {};
}

// What a put with a unique key may ask for besides.
Result<void> check_unique(const NewTask& task) {
  const UniqueKey& unique = *task.unique;
  if (auto ok = check::unique(unique); !ok) return ok;
  if (unique.on_conflict == OnConflict::postpone && !task.delay && !task.start) {
    return fail(ErrorCode::invalid,
                "unique on_conflict is postpone, and the put has no delay; give one, which each "
                "put of the key begins again",
                "delay_ms");
  }
  if (unique.on_conflict != OnConflict::keep && task.after) {
    return fail(ErrorCode::invalid,
                "a task that waits for others cannot replace another one; leave out `after` or "
                "unique on_conflict",
                "unique.on_conflict");
  }
  return {};
}

Result<void> check_after(const NewTask& task) {
  const After& after = *task.after;
  const auto refuse = [](std::string message, std::string field) {
    return fail(ErrorCode::invalid, std::move(message), std::move(field));
  };
  if (after.tasks.empty()) {
    return refuse("after names no task; name at least one, or leave it out", "after.tasks");
  }
  if (auto ok = check::count({"tasks to wait for", "after.tasks"}, after.tasks.size(),
                             limits::max_parents);
      !ok) {
    return ok;
  }
  if (auto ok = check::enumerator({"when", "after.when"}, after.when, AfterWhen::ended); !ok) {
    return ok;
  }
  if (auto ok =
          check::enumerator({"otherwise", "after.otherwise"}, after.otherwise, Otherwise::run);
      !ok) {
    return ok;
  }
  if (task.held) {
    return refuse("both held and after are given; a task with after is held until those have ended",
                  "held");
  }
  std::vector<std::pair<TaskId, std::size_t>> sorted;
  for (std::size_t i = 0; i < after.tasks.size(); ++i) sorted.emplace_back(after.tasks[i], i);
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& [id, place] = sorted[i];
    const std::string field = fmt::format("after.tasks[{}]", place);
    if (id.value.is_nil()) return refuse("the id of a task to wait for is nil", field);
    if (id == task.id) {
      return refuse(fmt::format("task {} would wait for itself", to_text(id.value)), field);
    }
    if (i != 0 && id == sorted[i - 1].first) {
      return refuse(fmt::format("task {} is named twice in after", to_text(id.value)), field);
    }
  }
  return {};
}

Result<void> check_policy(const NewTask& task) {
  if (auto ok = check::timeout(task.timeout); !ok) return ok;
  if (task.retry) {
    if (auto ok = check::rules(*task.retry); !ok) return ok;
  }
  if (task.unique) {
    if (auto ok = check_unique(task); !ok) return ok;
  }
  if (task.callback) {
    if (auto ok = check::callback(*task.callback); !ok) return ok;
  }
  if (auto ok = check::own_keep("keep_completed", task.keep_completed); !ok) return ok;
  if (auto ok = check::own_keep("keep_dead", task.keep_dead); !ok) return ok;
  if (task.after) {
    if (auto ok = check_after(task); !ok) return ok;
  }
  if (!task.keep_for) return {};
  if (task.keep_completed || task.keep_dead) {
    return fail(ErrorCode::invalid,
                fmt::format("keep_for, which is for every end, is given beside {}; allowed is one "
                            "of them",
                            task.keep_completed ? "keep_completed" : "keep_dead"),
                "keep_for_ms");
  }
  return check::duration({"keep_for", "keep_for_ms"}, *task.keep_for, {}, limits::max_delay);
}

// The checks that depend neither on the id nor on the time.
Result<void> check_task(const NewTask& task) {
  if (auto ok = check_queue(task.queue); !ok) return ok;
  if (!task.type.empty()) {
    if (auto ok = check_name({"task type", "type"}, task.type, true); !ok) return ok;
  }
  if (auto ok = check::size("payload", task.payload.size(), limits::max_payload); !ok) return ok;
  if (auto ok = check::size("metadata", task.metadata.size(), limits::max_metadata); !ok) return ok;
  if (auto ok = check::number("priority", task.priority, 0, limits::max_priority); !ok) return ok;
  if (task.start && task.delay) {
    return fail(ErrorCode::invalid, "both start and delay are given; allowed is one of them",
                "delay_ms");
  }
  if (task.delay) {
    if (auto ok = check::duration({"delay", "delay_ms"}, *task.delay, {}, limits::max_delay); !ok)
      return ok;
  }
  if (auto ok = check_labels(task); !ok) return ok;
  return check_policy(task);
}

Result<void> check_moments(const NewTask& task, TimePoint now) {
  const TimePoint last = later(now, limits::max_delay);
  const TimePoint start = task.start ? *task.start : later(now, task.delay.value_or(Duration{}));
  if (start > last) {
    return fail(ErrorCode::invalid,
                fmt::format("start is {}; allowed is at most 10 years ahead", format_time(start)),
                "start");
  }
  if (!task.start_by) return {};
  if (*task.start_by > last) {
    return fail(ErrorCode::invalid,
                fmt::format("start_by is {}; allowed is at most 10 years ahead",
                            format_time(*task.start_by)),
                "start_by");
  }
  if ((task.start || task.delay) && *task.start_by < start) {
    return fail(ErrorCode::invalid,
                fmt::format("start_by is {}, before the start at {}; allowed is that moment or "
                            "later",
                            format_time(*task.start_by), format_time(start)),
                "start_by");
  }
  return {};
}

Result<void> check_want(const Want& want) {
  if (auto ok = check_queue(want.queue); !ok) return ok;
  return check::number("most", want.most, 1, limits::max_batch);
}

Result<void> check_rule(const TickRule& rule) {
  if (rule.cron.empty() == (rule.every == Duration::zero())) {
    return fail(
        ErrorCode::invalid,
        fmt::format("{} given; allowed is either a cron expression or "
                    "an interval",
                    rule.cron.empty() ? "neither cron nor every is" : "both cron and every are"),
        "rule");
  }
  if (auto ok = check::text({"cron", "rule.cron"}, rule.cron, limits::max_cron); !ok) return ok;
  if (auto ok = check::text({"zone", "rule.zone"}, rule.zone, limits::max_zone); !ok) return ok;
  if (!rule.cron.empty()) return {};
  if (auto ok = check::duration({"every", "rule.every_ms"}, rule.every, limits::min_every,
                                limits::max_delay);
      !ok) {
    return ok;
  }
  if (rule.anchor >= first_time && rule.anchor <= last_time) return {};
  return fail(ErrorCode::invalid, "anchor is outside the years 0 to 9999", "rule.anchor");
}

bool suits(Event event, const Expectation& expect) {
  const auto among = [event](std::initializer_list<Event> events) {
    return std::ranges::find(events, event) != events.end();
  };
  if (std::holds_alternative<Held>(expect)) {
    return among({Event::done, Event::retry, Event::fail, Event::exhaust, Event::snooze,
                  Event::give_back, Event::cancel, Event::park});
  }
  if (std::holds_alternative<Lost>(expect)) {
    return among({Event::lose, Event::exhaust, Event::cancel});
  }
  return among({Event::expire, Event::cancel});
}

Result<void> check_checkpoint(const std::optional<std::string>& checkpoint) {
  if (!checkpoint) return {};
  return check::size("checkpoint", checkpoint->size(), limits::max_checkpoint);
}

std::string_view allowed_for(const Expectation& expect) {
  if (std::holds_alternative<Held>(expect)) {
    return "the holder of a lease may settle done, retry, fail, exhaust, snooze, give_back, cancel "
           "and park";
  }
  if (std::holds_alternative<Lost>(expect)) return "a lost lease ends in lose, exhaust or cancel";
  return "a wait ends in expire or cancel";
}

}  // namespace

Result<void> validate_name(const What& what, std::string_view name, bool internal_allowed) {
  return check_name(what, name, internal_allowed);
}

// Wherever a queue can be named, digits are its number and a UUID its id, and a path cannot have
// dots.
Result<void> check_new_queue_name(const What& what, std::string_view name) {
  const bool digits = std::ranges::all_of(name, ascii::is_digit);
  if (!digits && name != "." && name != ".." && !uuid_from_text(name)) return {};
  return fail(ErrorCode::invalid,
              fmt::format("{} {} would be taken for a number, an id or a path; add a letter",
                          what.words, in_quotes(name)),
              std::string(what.field));
}

Result<void> validate(const NewTask& task, TimePoint now) {
  if (task.id.value.is_nil()) {
    return fail(ErrorCode::invalid, "task id is nil; allowed is any other UUID", "id");
  }
  if (auto ok = check_task(task); !ok) return ok;
  return check_moments(task, now);
}

Result<void> validate(const Schedule& schedule) {
  if (auto ok = check_name({"schedule name", "name"}, schedule.name, true); !ok) return ok;
  if (auto ok = check_rule(schedule.rule); !ok) return ok;
  if (schedule.task.start || schedule.task.start_by) {
    return fail(ErrorCode::invalid,
                "a schedule's task has a start or start_by; allowed is a delay, which counts from "
                "each tick",
                schedule.task.start ? "task.start" : "task.start_by");
  }
  if (schedule.task.after) {
    return fail(ErrorCode::invalid,
                "a schedule's task has after, but each tick puts a new task; let the task that is "
                "put by the tick put the others",
                "task.after");
  }
  if (auto ok = inside("task", check_task(schedule.task)); !ok) return ok;
  if (auto ok = check::enumerator("overlap", schedule.overlap, Overlap::allow); !ok) return ok;
  if (auto ok = check::enumerator("missed", schedule.missed, Missed::all); !ok) return ok;
  if (auto ok = check::enumerator({"dst", "rule.dst"}, schedule.rule.dst, DstPolicy::both); !ok)
    return ok;
  if (auto ok = check::number("missed_most", schedule.missed_most, 1, limits::max_missed); !ok) {
    return ok;
  }
  return check::duration({"jitter", "jitter_ms"}, schedule.jitter, {}, limits::max_schedule_jitter);
}

Result<void> in_take(const TakeRequest& request, std::size_t place, Result<void> checked) {
  if (request.queues.size() == 1) return checked;
  return inside(fmt::format("queues[{}]", place), std::move(checked));
}

Result<void> validate(const TakeRequest& request) {
  if (auto ok = check::text("worker", request.worker, limits::max_label); !ok) return ok;
  if (request.queues.empty()) {
    return fail(ErrorCode::invalid, "a take names no queue; allowed are one and more", "queues");
  }
  std::uint64_t together = 0;
  for (std::size_t i = 0; i < request.queues.size(); ++i) {
    if (auto ok = check_want(request.queues[i]); !ok) return in_take(request, i, std::move(ok));
    together += request.queues[i].most;
  }
  if (auto ok =
          check::number({"most of all queues together", "queues"}, together, 1, limits::max_batch);
      !ok) {
    return ok;
  }
  if (!request.lease) return {};
  return check::duration({"lease", "lease_ms"}, *request.lease, limits::min_lease,
                         limits::max_lease);
}

Result<void> validate(const Extension& extension) {
  if (extension.id.value.is_nil()) {
    return fail(ErrorCode::invalid, "task id is nil; allowed is the id that came with the lease",
                "id");
  }
  if (extension.lease) {
    if (auto ok = check::duration({"lease", "lease_ms"}, *extension.lease, limits::min_lease,
                                  limits::max_lease);
        !ok) {
      return ok;
    }
  }
  if (extension.progress) {
    const double progress = *extension.progress;
    if (!(progress >= 0 && progress <= 100)) {
      return fail(ErrorCode::invalid, fmt::format("progress is {}; allowed are 0 to 100", progress),
                  "progress");
    }
  }
  if (auto ok = check::count({"log lines", ""}, extension.log.size(), limits::max_log_lines); !ok) {
    return ok;
  }
  for (const std::string& line : extension.log) {
    if (auto ok = check::size({"log line", ""}, line.size(), limits::max_log_line); !ok) return ok;
  }
  return check_checkpoint(extension.checkpoint);
}

Result<void> validate(const Settlement& settlement) {
  if (settlement.id.value.is_nil()) {
    return fail(ErrorCode::invalid, "task id is nil; allowed is the id that came with the lease",
                "id");
  }
  if (!suits(settlement.event, settlement.expect)) {
    return fail(ErrorCode::invalid,
                fmt::format("{} is not a way to settle this; {}", name_of(settlement.event),
                            allowed_for(settlement.expect)),
                "outcome");
  }
  const bool without_end = settlement.event == Event::park && settlement.ready == never;
  if (settlement.ready > last_time && !without_end) {
    return fail(ErrorCode::invalid, "ready is beyond the year 9999", "at");
  }
  if (auto ok = check::size("result", settlement.result.size(), limits::max_result); !ok) return ok;
  if (auto ok = check_checkpoint(settlement.checkpoint); !ok) return ok;
  if (settlement.error) {
    if (auto ok = check::error(*settlement.error); !ok) return ok;
  }
  if (auto ok = check::count({"follow-ups", "follow_ups"}, settlement.follow_ups.size(),
                             limits::max_follow_ups);
      !ok) {
    return ok;
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < settlement.follow_ups.size(); ++i) {
    const NewTask& task = settlement.follow_ups[i];
    if (task.after) {
      return fail(ErrorCode::invalid,
                  "a follow-up cannot wait for other tasks; put tasks with after by a put of their "
                  "own",
                  fmt::format("follow_ups[{}].after", i));
    }
    bytes += task.payload.size() + task.metadata.size();
  }
  return check::size({"follow-ups together", "follow_ups"}, bytes, limits::max_follow_up_bytes);
}

}  // namespace millrace
