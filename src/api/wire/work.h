// The worker's side of the API: settle, extend, take, and the answers.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/put.h"
#include "broker/broker.h"

namespace millrace::wire {

// How long a take may wait for tasks.
inline constexpr Duration max_wait = std::chrono::seconds(60);

enum class OutcomeName : std::uint8_t { done, failed, retry, snooze, cancel, give_back, park };
constexpr auto names(OutcomeName) {
  return std::to_array<std::string_view>(
      {"done", "failed", "retry", "snooze", "cancel", "give_back", "park"});
}

// A string, or any other JSON value, which is kept as text.
struct TextOrJson {
  std::string text = {};
};
void read(Input& in, TextOrJson& to, const Path& at);

// What a run has really cost.
struct Cost {
  std::uint32_t value = 0;
};
void read(Input& in, Cost& to, const Path& at);

// The error that a handler reports.
struct ErrorWords {
  std::optional<std::string> code = std::nullopt;
  std::string message = {};
  TextOrJson details = {};
  std::string stack = {};
};
void fields(A<ErrorWords> auto& of, auto& visit) {
  visit("code", of.code), visit("message", required(of.message));
  visit("details", of.details), visit("stack", of.stack);
}

// How a lease ended. The outcome decides which fields are allowed.
struct SettleWords {
  TaskId id = {};
  Token token = {};
  OutcomeName outcome = OutcomeName::done;
  std::string result = {};
  std::optional<ErrorWords> error = std::nullopt;
  std::optional<bool> retryable = std::nullopt;
  std::optional<TimePoint> at = std::nullopt;
  std::optional<Duration> delay = std::nullopt;
  std::optional<std::string> reason = std::nullopt;
  std::vector<PutWords> follow_ups = {};
  std::optional<std::string> checkpoint = std::nullopt;
  std::optional<Cost> cost = std::nullopt;
};
void fields(A<SettleWords> auto& of, auto& visit) {
  visit("id", of.id), visit("token", required(of.token)), visit("outcome", required(of.outcome));
  visit("result", embedded(of.result)), visit("error", of.error);
  visit("retryable", of.retryable), visit("at", of.at), visit("delay_ms", of.delay);
  visit("reason", of.reason), visit("follow_ups", of.follow_ups);
  visit("checkpoint", embedded_if_given(of.checkpoint)), visit("cost", of.cost);
}

struct TakeWords {
  std::vector<Want> queues = {};
  std::optional<QueueRef> queue = std::nullopt;  // with `most`, instead of a list of one
  std::optional<std::uint32_t> most = std::nullopt;
  std::optional<Duration> lease = std::nullopt;
  std::optional<Duration> wait = std::nullopt;
};
void fields(A<TakeWords> auto& of, auto& visit) {
  visit("queues", of.queues), visit("queue", of.queue), visit("most", of.most);
  visit("lease_ms", of.lease), visit("wait_ms", of.wait);
}

// A take alone, and a take with settlements and extensions before it.
struct TakeBody {
  std::string worker = {};
  TakeWords take = {};
};
void fields(A<TakeBody> auto& of, auto& visit) {
  visit("worker", of.worker);
  fields(of.take, visit);
}
struct WorkBody {
  std::string worker = {};
  std::vector<SettleWords> settle = {};
  std::vector<Extension> extend = {};
  std::optional<TakeWords> take = std::nullopt;
};
void fields(A<WorkBody> auto& of, auto& visit) {
  visit("worker", of.worker), visit("settle", of.settle), visit("extend", of.extend);
  visit("take", of.take);
}

// The three heartbeats of one task.
struct ExtendBody {
  Extension extension = {};
};
void fields(A<ExtendBody> auto& of, auto& visit) {
  visit("token", required(of.extension.token)), visit("lease_ms", of.extension.lease);
  visit("progress", of.extension.progress), visit("log", of.extension.log);
  visit("checkpoint", embedded_if_given(of.extension.checkpoint));
}
struct ProgressBody {
  Extension extension = {};
};
void fields(A<ProgressBody> auto& of, auto& visit) {
  visit("token", required(of.extension.token)), visit("lease_ms", of.extension.lease);
  visit("progress", required(of.extension.progress));
}
struct LogBody {
  Extension extension = {};
};
void fields(A<LogBody> auto& of, auto& visit) {
  visit("token", required(of.extension.token)), visit("lease_ms", of.extension.lease);
  visit("lines", required(of.extension.log));
}

// ---- Reading ----

// Delays count from `now`.
Read<WorkOrder> read_work(std::string_view text, TimePoint now);
Read<WorkOrder> read_take(std::string_view text);
// One settlement of the task that the path names.
Read<Report> read_settlement(std::string_view text, TaskId task, TimePoint now);

// ---- Writing ----

// {"status":…,"state":…} or {"error":…}
void append(std::string& out, const Settled& settled);
// {"settled":[…],"extended":[…],"tasks":[…]}: the first two only if the request had them. A refused
// take adds "take_error".
void append(std::string& out, const WorkResult& result);
// {"tasks":[…]}
void append_leases(std::string& out, const WorkResult& result);

}  // namespace millrace::wire
