#include "api/wire/work.h"

#include <fmt/format.h>
#include <utility>

#include "api/wire/text_writer.h"
#include "core/check.h"
#include "core/limits.h"

namespace millrace::wire {
namespace {

TaskError as_error(ErrorWords&& words) {
  TaskError error;
  if (words.code) error.code = std::move(*words.code);
  error.message = std::move(words.message);
  error.details = std::move(words.details.text);
  error.stack = std::move(words.stack);
  return error;
}

// Fields that do not belong to the outcome are refused, because their sender expects them to do
// something.
bool suits(const SettleWords& words, Input& in, const Path& at) {
  using enum OutcomeName;
  const OutcomeName is = words.outcome;
  const bool later = words.at || words.delay;
  const auto only = [&](bool given, bool allowed, std::string_view field, std::string_view with) {
    if (!given || allowed) return true;
    in.refuse(Path{.above = &at, .key = field},
              fmt::format("{} comes with the outcome {}; allowed is the outcome {}, or no {}",
                          field, names(is)[std::to_underlying(is)], with, field));
    return false;
  };
  return only(!words.result.empty(), is == done, "result", "done") &&
         only(words.error.has_value(), is == failed || is == retry, "error", "failed or retry") &&
         only(words.retryable.has_value(), is == failed, "retryable", "failed") &&
         only(later, is == retry || is == snooze || is == park, words.at ? "at" : "delay_ms",
              "retry, snooze or park") &&
         only(words.checkpoint.has_value(), is != done && is != cancel, "checkpoint",
              "failed, retry, snooze, park or give_back") &&
         only(words.reason.has_value(), is == cancel, "reason", "cancel");
}

// The moment that `at` or `delay_ms` names; one of them must.
TimePoint moment_of(const SettleWords& words, TimePoint now, Input& in, const Path& at) {
  if (words.at && words.delay) {
    in.refuse(Path{.above = &at, .key = "delay_ms"},
              "both at and delay_ms are given; give one of them");
    return {};
  }
  if (words.at) return *words.at;
  if (words.delay && *words.delay >= Duration::zero() && *words.delay <= limits::max_delay) {
    return later(now, *words.delay);
  }
  if (words.delay) {
    in.refuse(Path{.above = &at, .key = "delay_ms"},
              fmt::format("delay_ms is {}; allowed are 0 to {}, ten years", words.delay->count(),
                          limits::max_delay.count()));
  } else {
    in.miss(Path{.above = &at, .key = "delay_ms"});
  }
  return {};
}

Outcome outcome_of(SettleWords& words, TimePoint now, Input& in, const Path& at) {
  switch (words.outcome) {
    case OutcomeName::done:
      return Done{.result = std::move(words.result)};
    case OutcomeName::failed:
    case OutcomeName::retry:
      if (!words.error) {
        in.miss(Path{.above = &at, .key = "error"});
        return GiveBack{};
      }
      if (words.outcome == OutcomeName::failed) {
        return Failed{.error = as_error(std::move(*words.error)), .retryable = words.retryable};
      }
      return RetryAt{.at = moment_of(words, now, in, at),
                     .error = as_error(std::move(*words.error))};
    case OutcomeName::snooze:
      return Snooze{.until = moment_of(words, now, in, at)};
    case OutcomeName::park:
      return Park{.until = words.at || words.delay ? moment_of(words, now, in, at) : never};
    case OutcomeName::cancel:
      return Cancel{.reason = std::move(words.reason).value_or("")};
    case OutcomeName::give_back:
      return GiveBack{};
  }
  return GiveBack{};
}

Report as_report(SettleWords&& words, TimePoint now, Input& in, const Path& at) {
  Report report{.id = words.id, .token = words.token};
  if (!in.good() || !suits(words, in, at)) return report;
  report.outcome = outcome_of(words, now, in, at);
  report.checkpoint = std::move(words.checkpoint);
  if (words.cost) report.cost = words.cost->value;
  const Path list{.above = &at, .key = "follow_ups"};
  for (std::size_t i = 0; i < words.follow_ups.size(); ++i) {
    const Path here{.above = &list, .index = i};
    report.follow_ups.push_back(meant(std::move(words.follow_ups[i]), nullptr, in, here));
  }
  return report;
}

void check_wait(std::optional<Duration> wait, Input& in, const Path& at) {
  if (!wait || (*wait >= Duration::zero() && *wait <= max_wait)) return;
  in.refuse(Path{.above = &at, .key = "wait_ms"},
            fmt::format("wait_ms is {}; allowed are 0 to {}", wait->count(), max_wait.count()));
}

void check_worker(const std::string& worker, Input& in) {
  if (!worker.starts_with('$')) return;
  in.refuse(Path{.key = "worker"}, "worker begins with $; such names are reserved for Millrace");
}

TakeRequest as_take(std::string worker, TakeWords&& words, Input& in, const Path& at) {
  TakeRequest take{.worker = std::move(worker), .queues = std::move(words.queues)};
  take.lease = words.lease;
  check_wait(words.wait, in, at);
  if (words.queue && !take.queues.empty()) {
    in.refuse(Path{.above = &at, .key = "queue"},
              "both queue and queues are given; give one of them");
  } else if (words.queue) {
    take.queues.push_back({.queue = std::move(*words.queue), .most = words.most.value_or(1)});
  } else if (words.most) {
    in.refuse(Path{.above = &at, .key = "most"},
              "most is given without queue; with queues, each item has its own");
  } else if (take.queues.empty()) {
    in.miss(Path{.above = &at, .key = "queues"});
  }
  return take;
}

// The field of an error as the body of all work names it.
void append_error_at(std::string& out, std::string_view place, const Error& error) {
  const bool beside = error.field == "worker";  // which the body has beside `take`
  append_error(out, error.field.empty() || beside ? error : inside(place, error));
}

template <class T>
void append_results(std::string& out, std::string_view list,
                    const std::vector<Result<T>>& results) {
  out += '[';
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i != 0) out += ',';
    if (results[i]) {
      append(out, *results[i]);
    } else {
      out += "{\"error\":";
      append_error_at(out, fmt::format("{}[{}]", list, i), results[i].error());
      out += '}';
    }
  }
  out += ']';
}

void append_taken(TextWriter& writer, const WorkResult& result) {
  std::string& out = writer.key("tasks");
  out += '[';
  bool first = true;
  for (const auto& taken : result.taken) {
    if (!taken) continue;
    for (const Lease& lease : *taken) {
      if (!first) out += ',';
      first = false;
      append(out, lease);
    }
  }
  out += ']';
}

}  // namespace

void read(Input& in, TextOrJson& to, const Path& at) {
  if (in.peek() == '"') return read(in, to.text, at);
  if (const auto text = in.raw()) to.text.assign(*text);
}

void read(Input& in, Cost& to, const Path& at) {
  read(in, to.value, at);
}

Read<WorkOrder> read_work(std::string_view text, TimePoint now) {
  Input in(text);
  WorkBody body;
  read(in, body, Path{});
  WorkOrder order;
  if (in.good()) check_worker(body.worker, in);
  order.reports.reserve(body.settle.size());
  const Path settle{.key = "settle"};
  for (std::size_t i = 0; i < body.settle.size() && in.good(); ++i) {
    const Path here{.above = &settle, .index = i};
    if (body.settle[i].id.value.is_nil()) in.miss(Path{.above = &here, .key = "id"});
    order.reports.push_back(as_report(std::move(body.settle[i]), now, in, here));
  }
  order.extensions = std::move(body.extend);
  if (body.take && in.good()) {
    order.wait = body.take->wait.value_or(Duration{});
    const Path take{.key = "take"};
    order.takes.push_back(as_take(std::move(body.worker), std::move(*body.take), in, take));
  }
  return finished(in, std::move(order));
}

Read<WorkOrder> read_take(std::string_view text) {
  Input in(text);
  TakeBody body;
  read(in, body, Path{});
  WorkOrder order;
  if (in.good()) {
    check_worker(body.worker, in);
    order.wait = body.take.wait.value_or(Duration{});
    order.takes.push_back(as_take(std::move(body.worker), std::move(body.take), in, Path{}));
  }
  return finished(in, std::move(order));
}

Read<Report> read_settlement(std::string_view text, TaskId task, TimePoint now) {
  Input in(text);
  SettleWords words;
  read(in, words, Path{});
  if (!words.id.value.is_nil() && words.id != task) {
    in.refuse(Path{.key = "id"}, "id differs from the one in the path; leave it out");
  }
  words.id = task;
  return finished(in, as_report(std::move(words), now, in, Path{}));
}

void append(std::string& out, const Settled& settled) {
  TextWriter writer(out);
  append(writer.key("status"), settled.status);
  append(writer.key("state"), settled.state);
  writer.close();
}

void append(std::string& out, const WorkResult& result) {
  TextWriter writer(out);
  if (!result.settled.empty()) append_results(writer.key("settled"), "settle", result.settled);
  if (!result.extended.empty()) {
    append_results(writer.key("extended"), "extend", result.extended);
  }
  append_taken(writer, result);
  for (const auto& taken : result.taken) {
    if (taken) continue;
    append_error_at(writer.key("take_error"), "take", taken.error());
    break;
  }
  writer.close();
}

void append_leases(std::string& out, const WorkResult& result) {
  TextWriter writer(out);
  append_taken(writer, result);
  writer.close();
}

}  // namespace millrace::wire
