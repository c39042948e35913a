#include <millrace/client.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/client_parts.h"
#include "core/seed.h"
#include "core/uuid.h"
#include "store/store.h"

namespace millrace {
namespace {

DeadLetters letters_of(DeadFilter filter) {
  return {.queue = std::move(filter.queue), .type = std::move(filter.type)};
}

Result<TaskState> only(Result<Broker::States> states) {
  if (!states) return std::unexpected(std::move(states.error()));
  return std::move(states->front());
}

Result<std::uint64_t> count_of(Result<Handled> handled) {
  if (!handled) return std::unexpected(std::move(handled.error()));
  return handled->done;
}

Result<void> nothing(const Result<Queue>& queue) {
  if (!queue) return std::unexpected(queue.error());
  return {};
}

}  // namespace

std::string to_text(const TaskId& id) {
  return to_text(id.value);
}

NewTask new_task(QueueRef queue, std::string payload, PutOptions options) {
  return {.id = options.id,
          .queue = std::move(queue),
          .type = std::move(options.type),
          .payload = std::move(payload),
          .priority = options.priority,
          .start = options.start,
          .delay = options.delay,
          .start_by = options.start_by,
          .timeout = options.timeout,
          .retry = std::move(options.retry),
          .unique = std::move(options.unique),
          .callback = std::move(options.callback),
          .keep_for = options.keep_for,
          .group = std::move(options.group),
          .metadata = std::move(options.metadata),
          .tags = std::move(options.tags),
          .cost = options.cost};
}

Client::Client(std::string_view url, ClientOptions options) : parts_(std::make_shared<Parts>()) {
  parts_->clock = std::make_unique<SystemClock>();
  parts_->timeout = options.timeout;
  auto opened = open_broker(*parts_->clock, url,
                            {.key = std::move(options.key),
                             .ca_file = std::move(options.ca_file),
                             .timeout = options.timeout});
  if (!opened) throw Failure(std::move(opened.error()));
  parts_->opened = std::move(*opened);
}

Client::Client(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Client::~Client() {
  // An App closes its own parts.
  if (parts_ && parts_.use_count() == 1) {
    [[maybe_unused]] const auto closed = parts_->opened.close(parts_->clock->now());
  }
}

// ---- Tasks ----

Result<std::vector<Result<Put>>> Client::put_all(std::vector<NewTask> tasks) {
  return parts_->call<std::vector<Result<Put>>>([&](Broker& broker, Ask ask, auto done) {
    broker.put(ask, std::move(tasks), std::move(done));
  });
}

Result<Put> Client::put(NewTask task) {
  const auto in_place = parts_->run_in_place;
  std::optional<NewTask> copy;
  if (in_place) copy = task;
  std::vector<NewTask> tasks;
  tasks.push_back(std::move(task));
  auto results = put_all(std::move(tasks));
  Result<Put> result =
      results ? std::move(results->front()) : std::unexpected(std::move(results.error()));
  const bool away = !result && result.error().code == ErrorCode::unavailable;
  if (!away || !in_place) return result;
  const auto done = in_place(*copy);
  return done ? Result<Put>(*done) : result;
}

Result<std::vector<Put>> Client::put(const Graph& graph) {
  UuidSource ids(random_seed());
  const TimePoint now = parts_->opened.broker().now();
  return parts_->call<std::vector<Put>>([&](Broker& broker, Ask ask, auto done) {
    broker.put_all(ask, graph.tasks([&] { return TaskId{ids.next(now)}; }), std::move(done));
  });
}

Result<std::vector<Parent>> Client::parents(TaskId task) {
  return all_parents([&](ParentsRequest request) {
    return parts_->call<Parents>([&](Broker& broker, Ask ask, auto done) {
      broker.parents(ask, task, request, std::move(done));
    });
  });
}

Result<Task> Client::find(TaskId task) {
  return parts_->call<Task>(
      [&](Broker& broker, Ask ask, auto done) { broker.find(ask, task, std::move(done)); });
}

Result<Task> Client::await(TaskId task, Duration wait) {
  return parts_->call<Task>(
      [&](Broker& broker, Ask ask, auto done) { broker.await(ask, task, wait, std::move(done)); });
}

Result<TaskState> Client::cancel(TaskId task, std::string reason) {
  return only(parts_->call<Broker::States>([&](Broker& broker, Ask ask, auto done) {
    broker.cancel(ask, {task}, std::move(reason), std::move(done));
  }));
}

// ---- Dead letters ----

Result<std::vector<Task>> Client::dead(DeadFilter filter) {
  std::vector<Task> tasks;
  std::optional<TaskNumber> before;
  // A page may be short and still have a next one.
  do {
    auto page = parts_->call<TaskPage>([&](Broker& broker, Ask ask, auto done) {
      broker.list(ask,
                  {.queue = filter.queue,
                   .states = {TaskState::failed, TaskState::dead},
                   .type = filter.type,
                   .before = before,
                   .limit = filter.limit - static_cast<std::uint32_t>(tasks.size()),
                   .detail = Detail::full},
                  std::move(done));
    });
    if (!page) return std::unexpected(std::move(page.error()));
    std::ranges::move(page->tasks, std::back_inserter(tasks));
    before = page->next;
  } while (before && tasks.size() < filter.limit);
  return tasks;
}

Result<TaskState> Client::retry(TaskId task) {
  return only(parts_->call<Broker::States>(
      [&](Broker& broker, Ask ask, auto done) { broker.retry(ask, {task}, std::move(done)); }));
}

Result<std::uint64_t> Client::retry_dead(DeadFilter filter) {
  return count_of(parts_->call<Handled>([&](Broker& broker, Ask ask, auto done) {
    broker.handle_dead(ask, letters_of(std::move(filter)), DeadAction::retry, std::move(done));
  }));
}

Result<std::uint64_t> Client::clear_dead(DeadFilter filter) {
  return count_of(parts_->call<Handled>([&](Broker& broker, Ask ask, auto done) {
    broker.handle_dead(ask, letters_of(std::move(filter)), DeadAction::remove, std::move(done));
  }));
}

// ---- Queues ----

Result<void> Client::pause(QueueRef queue, std::optional<Duration> time) {
  const TimePoint until = time ? later(parts_->opened.broker().now(), *time) : never;
  return nothing(parts_->call<Queue>([&](Broker& broker, Ask ask, auto done) {
    const auto change = [until](QueueSettings& settings) -> Result<void> {
      settings.paused_until = until;
      return {};
    };
    broker.change_queue(ask, std::move(queue), change, std::move(done));
  }));
}

Result<void> Client::resume(QueueRef queue) {
  return nothing(parts_->call<Queue>([&](Broker& broker, Ask ask, auto done) {
    const auto change = [](QueueSettings& settings) -> Result<void> {
      settings.paused_until = std::nullopt;
      return {};
    };
    broker.change_queue(ask, std::move(queue), change, std::move(done));
  }));
}

namespace {

Result<QueueView> view_of(const auto& parts, QueueRef queue) {
  auto views = parts.template call<std::vector<QueueView>>([&](Broker& broker, Ask ask, auto done) {
    broker.queues(ask, std::move(queue), std::move(done));
  });
  if (!views) return std::unexpected(std::move(views.error()));
  return std::move(views->front());
}

}  // namespace

Result<QueueCounts> Client::counts(QueueRef queue) {
  auto view = view_of(*parts_, std::move(queue));
  if (!view) return std::unexpected(std::move(view.error()));
  return std::move(view->counts);
}

Result<QueueSettings> Client::settings(QueueRef queue) {
  auto view = view_of(*parts_, std::move(queue));
  if (!view) return std::unexpected(std::move(view.error()));
  return std::move(view->queue.settings);
}

}  // namespace millrace
