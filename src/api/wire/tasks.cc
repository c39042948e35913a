#include "api/wire/tasks.h"

#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include "api/wire/bulk.h"
#include "api/wire/put.h"
#include "api/wire/text_reader.h"
#include "core/limits.h"

namespace millrace::wire {

struct ReleaseWords {
  TaskUpdate update = {};
};
void fields(A<ReleaseWords> auto& of, auto& visit) {
  visit("data", embedded_if_given(of.update.answer));
  visit("expect_version", not_null(of.update.expect_version));
}
struct CancelWords {
  std::string reason = {};
};
void fields(A<CancelWords> auto& of, auto& visit) {
  visit("reason", of.reason);
}

struct UpdateWords {
  std::optional<GivenPriority> priority = std::nullopt;
  std::optional<PriorityScale> scale = std::nullopt;
  std::optional<TimePoint> start = std::nullopt;
  std::optional<Duration> delay = std::nullopt;
  std::optional<QueueRef> queue = std::nullopt;
};
void fields(A<UpdateWords> auto& of, auto& visit) {
  visit("priority", of.priority), visit("priority_scale", of.scale);
  visit("start", of.start), visit("delay_ms", of.delay), visit("queue", of.queue);
}

struct DeadWords {
  std::optional<std::vector<TaskId>> ids = std::nullopt;
  std::optional<QueueRef> queue = std::nullopt;
  std::optional<std::string> type = std::nullopt;
  bool all = false;
};
void fields(A<DeadWords> auto& of, auto& visit) {
  // A mistake, such as a variable that is not set, must not mean all of them.
  visit("ids", not_null(of.ids)), visit("queue", not_null(of.queue));
  visit("type", not_null(of.type)), visit("all", of.all);
}

struct ActionWords {
  TaskActions actions = {};
  std::optional<GivenPriority> priority = std::nullopt;
};
void fields(A<ActionWords> auto& of, auto& visit) {
  visit("action", required(of.actions.action)), visit("ids", required(of.actions.ids));
  visit("reason", of.actions.reason), visit("priority", of.priority);
  visit("to", of.actions.to);
}

struct PauseWords {
  std::optional<Duration> duration = std::nullopt;
  std::optional<TimePoint> until = std::nullopt;
};
void fields(A<PauseWords> auto& of, auto& visit) {
  visit("for_ms", of.duration), visit("until", of.until);
}

TimePoint moment_after(TimePoint now, Duration delay, std::string_view key, Input& in) {
  if (delay > limits::max_delay) {
    in.refuse(Path{.key = key}, fmt::format("{} is {}; allowed are 0 to {}, ten years", key,
                                            delay.count(), limits::max_delay.count()));
  }
  return later(now, std::min(delay, limits::max_delay));
}

Read<std::string> read_cancel(std::string_view text) {
  auto words = read_text<CancelWords>(text);
  if (!words) return std::unexpected(std::move(words.error()));
  return std::move(words->reason);
}

Read<TaskUpdate> read_release(std::string_view text) {
  ReleaseWords words;
  if (!text.empty()) {
    auto given = read_text<ReleaseWords>(text);
    if (!given) return std::unexpected(std::move(given.error()));
    words = std::move(*given);
  }
  words.update.release = true;
  return std::move(words.update);
}

Read<TaskUpdate> read_update(std::string_view text, TimePoint now) {
  Input in(text);
  UpdateWords words;
  read(in, words, Path{});
  TaskUpdate update{.start = words.start, .queue = std::move(words.queue)};
  if (!in.good()) return finished(in, update);
  if (words.start && words.delay) {
    in.refuse(Path{.key = "delay_ms"}, "both start and delay_ms are given; give one of them");
  } else if (words.delay) {
    update.start = moment_after(now, *words.delay, "delay_ms", in);
  }
  take_priority(words.priority, words.scale, update.priority, Path{.key = "priority"}, in);
  if (!update.priority && !update.start && !update.queue && in.good()) {
    in.refuse(Path{}, "nothing to change is given; allowed are priority, start, delay_ms, queue");
  }
  return finished(in, update);
}

Read<DeadLetters> read_dead_letters(std::string_view text) {
  Input in(text);
  DeadWords words;
  read(in, words, Path{});
  if (!in.good()) return finished(in, DeadLetters{});
  const bool filtered = words.queue || words.type;
  if (words.ids && (filtered || words.all)) {
    in.refuse(Path{.key = "ids"}, "both ids and a filter are given; give one of them");
  } else if ((!words.ids || words.ids->empty()) && !words.all) {
    in.refuse(Path{.key = "all"},
              "neither ids nor \"all\": true is given; a filter needs \"all\": true");
  }
  return finished(in, DeadLetters{.ids = std::move(words.ids).value_or(std::vector<TaskId>()),
                                  .queue = std::move(words.queue),
                                  .type = std::move(words.type)});
}

Read<TaskActions> read_actions(std::string_view text) {
  Input in(text);
  ActionWords words;
  read(in, words, Path{});
  if (!in.good()) return finished(in, TaskActions{});
  TaskActions& actions = words.actions;
  take_priority(words.priority, std::nullopt, actions.priority, Path{.key = "priority"}, in);
  check_words({.action = actions.action,
               .priority = actions.priority,
               .to = actions.to,
               .reason = actions.reason},
              in);
  if (actions.ids.empty() || actions.ids.size() > limits::max_batch) {
    in.refuse(Path{.key = "ids"}, fmt::format("ids has {} entries; allowed are 1 to {}",
                                              actions.ids.size(), limits::max_batch));
  }
  return finished(in, std::move(actions));
}

Read<TimePoint> read_pause(std::string_view text, TimePoint now) {
  if (text.empty()) return never;
  Input in(text);
  PauseWords words;
  read(in, words, Path{});
  if (!in.good()) return finished(in, never);
  if (words.duration && words.until) {
    in.refuse(Path{.key = "until"}, "both for_ms and until are given; give one of them");
  }
  if (words.duration) return finished(in, moment_after(now, *words.duration, "for_ms", in));
  return finished(in, words.until.value_or(never));
}

}  // namespace millrace::wire
