// For programs that put tasks and ask for their results, but run none.
//
//   millrace::Client client("http://127.0.0.1:7070");
//   auto put = client.put("emails", Email{"someone@example.com", "Hi"}, {.priority = 8});
#pragma once

#include <millrace/fields.h>
#include <millrace/graph.h>
#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

// Thrown where a Result cannot be returned: by constructors and by calls that look like function
// calls.
struct Failure : std::runtime_error {
  explicit Failure(Error why) : std::runtime_error(why.message), error(std::move(why)) {}

  Error error;
};

// Options of a put beside the payload. For everything else a task can have, use NewTask.
struct PutOptions {
  std::string type = {};
  std::uint8_t priority = default_priority;
  std::optional<Duration> delay = std::nullopt;
  std::optional<TimePoint> start = std::nullopt;
  std::optional<TimePoint> start_by = std::nullopt;
  std::optional<Duration> timeout = std::nullopt;
  std::optional<RetryRules> retry = std::nullopt;
  std::optional<UniqueKey> unique = std::nullopt;
  std::optional<Callback> callback = std::nullopt;
  std::optional<Duration> keep_for = std::nullopt;
  std::vector<std::string> tags = {};
  std::string group = {};     // such as a customer; see GroupRules
  std::uint32_t cost = 1;     // what it counts in a rate of cost
  std::string metadata = {};  // a JSON object
  TaskId id = {};             // nil: one is made
};

// As people see it everywhere: 0190f0a2-….
std::string to_text(const TaskId& id);

NewTask new_task(QueueRef queue, std::string payload, PutOptions options);

// Which dead letters: of one queue or of all, of one type or of any.
struct DeadFilter {
  std::optional<QueueRef> queue = std::nullopt;
  std::optional<std::string> type = std::nullopt;
  std::uint32_t limit = 100;  // of a list; 1,000 at most
};

struct ClientOptions {
  std::string key = {};                         // for an http server; empty: MILLRACE_KEY
  Duration timeout = std::chrono::seconds(30);  // of every call
  std::string ca_file = {};                     // for https: as AppOptions::ca_file
};

// Thread-safe. Every call blocks until its answer is here.
class Client {
 public:
  // Any store by its URL, or http(s)://server. Throws Failure if it cannot be opened.
  explicit Client(std::string_view url, ClientOptions options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // ---- Tasks ----
  Result<Put> put(NewTask task);
  // Each task has a result of its own.
  Result<std::vector<Result<Put>>> put_all(std::vector<NewTask> tasks);
  template <class T>
  Result<Put> put(QueueRef queue, const T& payload, PutOptions options = {}) {
    return put(new_task(std::move(queue), encode(payload), std::move(options)));
  }
  // All of the graph's tasks or none, in the order of Graph::add(). An error says in its field
  // which task it is about: `tasks[3].queue`.
  Result<std::vector<Put>> put(const Graph& graph);
  // The tasks that a task waits or waited for, with what came of them.
  Result<std::vector<Parent>> parents(TaskId task);
  Result<Task> find(TaskId task);
  // The task when it has ended, or as it is after `wait`.
  Result<Task> await(TaskId task, Duration wait);
  Result<TaskState> cancel(TaskId task, std::string reason = {});

  // ---- Dead letters ----
  Result<std::vector<Task>> dead(DeadFilter filter = {});
  Result<TaskState> retry(TaskId task);
  Result<std::uint64_t> retry_dead(DeadFilter filter = {});
  Result<std::uint64_t> clear_dead(DeadFilter filter = {});

  // ---- Queues ----
  Result<void> pause(QueueRef queue, std::optional<Duration> time = std::nullopt);
  Result<void> resume(QueueRef queue);
  Result<QueueCounts> counts(QueueRef queue);
  Result<QueueSettings> settings(QueueRef queue);

 private:
  friend class App;
  struct Parts;
  explicit Client(std::shared_ptr<Parts> parts);
  std::shared_ptr<Parts> parts_;
};

}  // namespace millrace
