// A worker program: typed handlers for queues, functions on a schedule, and everything a Client can
// do, over any store or server.
//
//   millrace::App app("journal:./data");
//   auto emails = app.handle<Email>("emails", {.concurrency = 5, .timeout = 30s},
//                     [](const Email& email, millrace::Context& task) { send(email); });
//   emails({"someone@example.com", "Hi"}, {.priority = 8});
//   return app.run();
#pragma once

#include <millrace/client.h>
#include <millrace/context.h>
#include <millrace/fields.h>
#include <millrace/handler.h>
#include <millrace/schedule.h>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace millrace {

// How the webhooks of tasks are delivered, if this process has the store. Not in virtual time.
struct WebhookOptions {
  std::vector<std::string> secrets = {};  // whsec_…, to sign with; several while one is replaced
  // Private addresses that may be called: "false", "true", or ranges such as 10.1.0.0/16,fd00::/8.
  std::string allow_private = "false";
  std::uint32_t concurrency = 16;  // 0: webhooks wait for another process that delivers them
};

struct AppOptions {
  std::string name = {};  // of this worker; empty: host and process
  std::string key = {};   // of an http server; empty: MILLRACE_KEY
  // For https: the certificate of the private authority to trust, a PEM file; empty:
  // MILLRACE_CA_FILE, then SSL_CERT_FILE, then the system's authorities.
  std::string ca_file = {};
  // How long the constructor waits for an http server that does not answer yet; zero: not at all.
  // For a database, wait= in its URL says it.
  Duration server_wait = std::chrono::seconds(30);
  std::uint32_t processors = 0;  // threads for handlers; 0: as many as the handlers' concurrency
  QueueOrder order = QueueOrder::round_robin;
  RetryPolicy retry = {};  // unless the task, type or queue says otherwise; not with a server
  // A queue that an operator or program has configured keeps its stored settings; a difference is
  // logged. True: the settings of the handlers are stored at every start.
  bool overwrite_settings = false;
  Duration idle = std::chrono::seconds(1);         // how long a take waits while there are no tasks
  Duration error_pause = std::chrono::seconds(5);  // after an error; doubles up to
  Duration longest_pause = std::chrono::seconds(30);
  Duration shutdown_timeout = std::chrono::seconds(30);  // for running handlers; zero: no limit
  int shutdown_timeout_exit_code = 0;                    // of run(), if that time runs out
  bool manager = false;  // moves processors to the queues that wait longest; not with a server
  WebhookOptions webhooks = {};
  std::string metrics = {};  // address and port for Prometheus, such as 127.0.0.1:9100; empty: none
  // Where log lines go; empty: standard error. Called from any thread.
  std::function<void(std::string_view line)> log = {};
  // If set, nothing runs by itself: App::step() lets time pass.
  std::optional<TimePoint> virtual_time = std::nullopt;
};

struct ScheduleOptions {
  std::string zone = "UTC";
  Overlap overlap = Overlap::skip;
  Missed missed = Missed::one;
  Duration jitter{};
};

// A function that a schedule can call, with the Context or without.
template <class F>
concept Scheduled = std::invocable<F> || std::invocable<F, Context&>;

// What App::step() has done.
struct Stepped {
  std::uint64_t runs = 0;     // tasks whose handler ended
  std::uint64_t moments = 0;  // at which something was due
};

struct QueueMetrics {
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  // runs that did not succeed
  std::uint64_t retried = 0;
  double avg_seconds = 0;  // per run
};

// Puts tasks for a handler; a call looks like a call of the handler itself.
template <class T>
class Handle {
 public:
  Handle(Client& client, std::string queue, std::string type)
      : client_(&client), queue_(std::move(queue)), type_(std::move(type)) {}

  // Throws Failure if the task cannot be put.
  Put operator()(const T& payload, PutOptions options = {}) const {
    auto result = put(payload, std::move(options));
    if (!result) throw Failure(std::move(result.error()));
    return *result;
  }
  Result<Put> put(const T& payload, PutOptions options = {}) const {
    if (options.type.empty()) options.type = type_;
    return client_->put(queue_, payload, std::move(options));
  }

 private:
  Client* client_;
  std::string queue_;
  std::string type_;
};

// One task of a batch.
template <class T>
struct Item {
  const T& payload;
  Context& task;
};

class App {
 public:
  // Any store by its URL, or http(s)://server. Throws Failure if it cannot be opened.
  explicit App(std::string_view url, AppOptions options = {});
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App();  // like stop(), with the shutdown timeout

  // ---- Handlers: all before run(), start() or step() ----
  //
  // A handler is called with (const T&, Context&), (const T&) or (). It returns nothing, an
  // Outcome, a Result, or a value that becomes the task's result. If the payload is not a T, the
  // task ends as `failed`: a retry cannot help.

  template <class T, class F>
  Handle<T> handle(std::string queue, HandlerOptions options, F handler) {
    set_options(queue, std::move(options));
    add(queue, {}, {}, single<T>(std::move(handler)));
    return {client(), std::move(queue), {}};
  }
  template <class T, class F>
  Handle<T> handle(std::string queue, F handler) {
    return handle<T>(std::move(queue), HandlerOptions{}, std::move(handler));
  }
  // For one type of task; queue() sets the options of the queue. If a queue has only such handlers,
  // tasks of other types end as `failed`: "Unsupported task type: …".
  template <class T, class F>
  Handle<T> handle_type(std::string queue, std::string type, TypeOptions options, F handler) {
    add(queue, type, std::move(options), single<T>(std::move(handler)));
    return {client(), std::move(queue), std::move(type)};
  }
  template <class T, class F>
  Handle<T> handle_type(std::string queue, std::string type, F handler) {
    return handle_type<T>(std::move(queue), std::move(type), TypeOptions{}, std::move(handler));
  }
  // Called with (std::span<Item<T>>), up to batch_size items at once. Each item may be settled on
  // its own; the others are done when the handler returns and failed when it throws.
  template <class T, class F>
  Handle<T> handle_batch(std::string queue, HandlerOptions options, F handler) {
    set_batch_options(queue, std::move(options));
    add(queue, {}, {}, batched<T>(std::move(handler)));
    return {client(), std::move(queue), {}};
  }
  // Settings of a queue, with or without a handler.
  void queue(std::string queue, HandlerOptions options) {
    set_options(std::move(queue), std::move(options));
  }

  // ---- Schedules: stored under their name; all before run(), start() or step() ----
  //
  // The function is a task of a queue with the schedule's name, so it is retried and shown like
  // one.

  template <Scheduled F>
  void every(Duration interval, std::string name, F function) {
    every(interval, std::move(name), ScheduleOptions{}, std::move(function));
  }
  template <Scheduled F>
  void every(Duration interval, std::string name, ScheduleOptions options, F function) {
    NewTask task{.queue = name, .type = name, .payload = "null"};
    add(name, {}, {}, untyped(std::move(function)));
    schedule(std::move(name), {.every = interval}, std::move(options), std::move(task));
  }
  template <Scheduled F>
  void cron(std::string expression, std::string name, F function) {
    cron(std::move(expression), std::move(name), ScheduleOptions{}, std::move(function));
  }
  template <Scheduled F>
  void cron(std::string expression, std::string name, ScheduleOptions options, F function) {
    NewTask task{.queue = name, .type = name, .payload = "null"};
    add(name, {}, {}, untyped(std::move(function)));
    schedule(std::move(name), {.cron = std::move(expression)}, std::move(options), std::move(task));
  }
  // Puts a task at each tick, for the handler of its queue.
  void every(Duration interval, std::string name, ScheduleOptions options, NewTask task) {
    schedule(std::move(name), {.every = interval}, std::move(options), std::move(task));
  }
  void cron(std::string expression, std::string name, ScheduleOptions options, NewTask task) {
    schedule(std::move(name), {.cron = std::move(expression)}, std::move(options), std::move(task));
  }

  // ---- Working ----

  // Works until SIGTERM, SIGINT or stop(), then drains. main() returns the result.
  int run();
  // The same in pieces: start() returns when the work has begun, stop() when it has ended.
  Result<void> start();
  // Takes nothing more; running handlers go on. Returns at once. From any thread or handler.
  void shutdown();
  int stop();

  // Lets virtual time pass up to `now`, and runs on this thread whatever falls due on the way, each
  // at its moment: tasks, retries, schedules, lost leases. Not for servers over HTTP.
  Result<Stepped> step(TimePoint now);

  // ---- Operating ----

  // Puts, dead letters, pauses.
  //
  // While the store is away a put is an error, unless the handler is `critical`: then the handler
  // runs at once in the caller's thread, without retries or a record, and the result is a task that
  // is completed and was never stored (number 0). It cannot put follow-ups.
  Client& client();
  QueueMetrics metrics(const std::string& queue) const;
  HandlerStats stats(const std::string& queue) const;  // counters per queue
  std::string metrics_text() const;                    // in the text format of Prometheus

 private:
  struct Parts;

  void set_options(const std::string& queue, HandlerOptions options);
  void set_batch_options(const std::string& queue, HandlerOptions options);
  // An empty type: every type that has no handler of its own.
  void add(const std::string& queue, const std::string& type, TypeOptions options,
           HandlerFunction handler);
  void schedule(std::string name, TickRule rule, ScheduleOptions options, NewTask task);

  template <class T, class F>
  static HandlerFunction single(F handler);
  template <class T, class F>
  static HandlerFunction batched(F handler);
  template <class F>
  static HandlerFunction untyped(F function);

  std::unique_ptr<Parts> parts_;
};

// ---- From typed handlers to HandlerFunctions ----

namespace internal {

template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<Result<T>> = true;

// The payload is not what the handler takes. A retry cannot help.
inline Outcome bad_payload(const Error& error) {
  return Failed{{.code = "invalid_payload", .message = error.message}, false};
}

// The return value of a handler, as an outcome.
template <class R>
Outcome outcome_of(R&& returned) {
  using T = std::remove_cvref_t<R>;
  if constexpr (is_result<T>) {
    if (!returned) return Failed{{.message = returned.error().message}};
    if constexpr (std::is_void_v<typename T::value_type>) {
      return Done{};
    } else {
      return outcome_of(*std::forward<R>(returned));
    }
  } else if constexpr (std::is_constructible_v<Outcome, R>) {
    return Outcome(std::forward<R>(returned));
  } else {
    return Done{encode(returned)};
  }
}

// Calls the handler with as many arguments as it takes, and settles with what it returns.
template <class F, class... Arguments>
void call_and_settle(F& function, Context& task, Arguments&... arguments) {
  const auto settle = [&]<class... With>(With&... with) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, With&...>>) {
      function(with...);
    } else {
      std::ignore = task.settle(outcome_of(function(with...)));
    }
  };
  if constexpr (std::is_invocable_v<F&, Arguments&..., Context&>) {
    settle(arguments..., task);
  } else if constexpr (std::is_invocable_v<F&, Arguments&...>) {
    settle(arguments...);
  } else {
    static_assert(std::is_invocable_v<F&>,
                  "a handler is called with (const T&, Context&), (const T&) or ()");
    settle();
  }
}

}  // namespace internal

template <class T, class F>
HandlerFunction App::single(F handler) {
  return [shared = std::make_shared<F>(std::move(handler))](std::span<Context* const> tasks) {
    for (Context* task : tasks) {
      const Lease& lease = task->task();
      const Result<T> payload = decode<T>(lease.payload, lease.content_type);
      if (!payload) {
        std::ignore = task->settle(internal::bad_payload(payload.error()));
      } else {
        internal::call_and_settle(*shared, *task, *payload);
      }
    }
  };
}

template <class T, class F>
HandlerFunction App::batched(F handler) {
  static_assert(std::is_invocable_v<F&, std::span<Item<T>>>,
                "a batch handler is called with (std::span<millrace::Item<T>>)");
  return [shared = std::make_shared<F>(std::move(handler))](std::span<Context* const> tasks) {
    std::vector<T> payloads;
    std::vector<Context*> good;
    payloads.reserve(tasks.size());
    for (Context* task : tasks) {
      const Lease& lease = task->task();
      Result<T> payload = decode<T>(lease.payload, lease.content_type);
      if (!payload) {
        std::ignore = task->settle(internal::bad_payload(payload.error()));
        continue;
      }
      payloads.push_back(std::move(*payload));
      good.push_back(task);
    }
    if (good.empty()) return;
    std::vector<Item<T>> items;
    items.reserve(good.size());
    for (std::size_t i = 0; i < good.size(); ++i) items.push_back({payloads[i], *good[i]});
    (*shared)(std::span<Item<T>>(items));
  };
}

template <class F>
HandlerFunction App::untyped(F function) {
  return [shared = std::make_shared<F>(std::move(function))](std::span<Context* const> tasks) {
    for (Context* task : tasks) internal::call_and_settle(*shared, *task);
  };
}

}  // namespace millrace
