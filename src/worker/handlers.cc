#include "worker/handlers.h"

#include <fmt/format.h>
#include <millrace/context.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "broker/wait_for_answer.h"
#include "core/uuid.h"

namespace millrace::worker {
namespace {

// The end of a run that was asked to stop; nullopt: it was not asked.
std::optional<Outcome> when_stopped(const Context& task) {
  switch (task.stop_reason()) {
    case StopReason::cancelled:
      return Cancel{"cancelled while it was running"};
    case StopReason::lease_lost:
    case StopReason::stopping:
      return GiveBack{};
    default:  // a timeout: the worker itself ends the run, unless the handler did
      return std::nullopt;
  }
}

// Counts the attempts of all deliveries of a task together: redeliveries and failed tries, too. A
// task whose retention has ended is not there any more, and its webhook is delivered all the same.
void count_attempt(Broker& broker, CallerId caller, TaskId task, std::string status) {
  const Ask ask{.caller = caller, .internal = true};
  std::vector<TaskUpdate> updates(1);
  updates[0].id = task;
  updates[0].delivery_attempt = std::move(status);
  (void)wait_for_answer<Broker::States>(
      [&](auto done) { broker.update(ask, std::move(updates), std::move(done)); });
}

// Logs where it went and what came back; neither secrets nor what may hold them.
void log_delivery(const Log& log, std::string_view what, const Context& context,
                  const Delivery& delivery, const Outcome& outcome) {
  const std::string about = to_text(context.task().parent.value);
  const bool done = std::holds_alternative<Done>(outcome);
  const auto* failed = std::get_if<Failed>(&outcome);
  const bool given_up = failed != nullptr && failed->retryable == false;
  const LogLevel level = done ? LogLevel::debug : given_up ? LogLevel::warning : LogLevel::info;
  if (!log.wants(level)) return;
  const auto* later = std::get_if<RetryAt>(&outcome);
  const std::string code = failed != nullptr  ? failed->error.code
                           : later != nullptr ? later->error.code
                                              : std::string();
  log(level,
      fmt::format("{} {} {}", what, done ? "delivered to" : "not delivered to",
                  origin_of(delivery.url)),
      {{"task", about},
       {"delivery", to_text(delivery.id.value)},
       {"attempt", std::int64_t{context.attempt()}},
       {"code", code}});
}

// The worker reports the timeout; the output of the command up to then becomes the details.
Outcome timed_out(ExecEnd& end) {
  return Failed{.error = {.code = "timeout", .message = std::move(end.errors)}};
}

Outcome undeliverable(const Error& error) {
  return Failed{.error = {.code = "invalid_payload", .message = error.message}, .retryable = false};
}

}  // namespace

HandlerFunction deliver_webhooks(Broker& broker, outgoing::HttpClient& client,
                                 DeliverOptions options, Log log) {
  const CallerId caller = broker.new_caller();
  return [&broker, &client, caller, options = std::move(options),
          log = std::move(log)](std::span<Context* const> tasks) {
    for (Context* task : tasks) {
      const auto delivery = webhook_of(task->task());
      if (!delivery) {
        (void)task->settle(undeliverable(delivery.error()));
        continue;
      }
      Delivered sent = deliver(client, *delivery, options, task->now(), task->stop_token());
      const bool delivered = std::holds_alternative<Done>(sent.outcome);
      if (auto stopped = when_stopped(*task); stopped && !delivered) {
        (void)task->settle(std::move(*stopped));
        continue;
      }
      count_attempt(broker, caller, task->task().parent, std::move(sent.status));
      log_delivery(log, "webhook", *task, *delivery, sent.outcome);
      (void)task->settle(std::move(sent.outcome));
    }
  };
}

HandlerFunction deliver_alerts(outgoing::HttpClient& client, std::string url,
                               DeliverOptions options, Log log) {
  return [&client, url = std::move(url), options = std::move(options),
          log = std::move(log)](std::span<Context* const> tasks) {
    for (Context* task : tasks) {
      if (url.empty()) {
        (void)task->settle(Done{});
        continue;
      }
      const auto delivery = alert_of(task->task(), url);
      if (!delivery) {
        (void)task->settle(undeliverable(delivery.error()));
        continue;
      }
      Delivered sent = deliver(client, *delivery, options, task->now(), task->stop_token());
      const bool delivered = std::holds_alternative<Done>(sent.outcome);
      if (auto stopped = when_stopped(*task); stopped && !delivered) {
        (void)task->settle(std::move(*stopped));
        continue;
      }
      log_delivery(log, "alert", *task, *delivery, sent.outcome);
      (void)task->settle(std::move(sent.outcome));
    }
  };
}

HandlerFunction run_commands(Clock& clock, ExecOptions options) {
  return [&clock, options = std::move(options)](std::span<Context* const> tasks) {
    for (Context* task : tasks) {
      const ExecInput input{
          .payload = task->task().payload,
          .environment = variables_of(task->task(), task->attempt(), task->deadline())};
      const auto log = [task, &options](std::string line) {
        if (options.echo) options.echo(task->task(), line);
        task->log(std::move(line));
      };
      const ExecEvents events{.log = log,
                              .progress = [task](double percent) { task->progress(percent); }};
      ExecEnd end = run_command(clock, options, input, task->stop_token(), events);
      // If the command was stopped because its time was up, the worker ends the run.
      auto stopped = end.kind == ExecEnd::Kind::stopped ? when_stopped(*task) : std::nullopt;
      if (end.kind == ExecEnd::Kind::stopped && !stopped) stopped = timed_out(end);
      (void)task->settle(stopped ? std::move(*stopped) : outcome_of(std::move(end), options));
    }
  };
}

HandlerFunction call_endpoint(outgoing::HttpClient& client, EndpointOptions options) {
  return [&client, options = std::move(options)](std::span<Context* const> tasks) {
    for (Context* task : tasks) {
      auto request =
          request_of(options, task->task(), task->attempt(), task->deadline(), task->now());
      request.stop = task->stop_token();
      const auto reply = client.send(std::move(request));
      Outcome outcome = outcome_of(reply, task->now());
      auto stopped = reply ? std::nullopt : when_stopped(*task);
      (void)task->settle(stopped ? std::move(*stopped) : std::move(outcome));
    }
  };
}

}  // namespace millrace::worker
