#include "cli/top_facts.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "core/limits.h"
#include "core/mutex.h"

namespace millrace::cli {
namespace {

// The state of the four requests, which run at the same time.
struct Gathering {
  Gathering(Completion<TopFacts> whom, Clock& its_clock)
      : done(std::move(whom)), clock(its_clock) {}

  Mutex mutex;
  std::size_t open GUARDED_BY(mutex) = 4;
  TopFacts facts GUARDED_BY(mutex) = {};
  std::optional<Error> error GUARDED_BY(mutex) = std::nullopt;
  Completion<TopFacts> done;
  Clock& clock;
};

// The last answer has come.
void finish(Gathering& gathering) {
  Lock lock(gathering.mutex);
  const auto error = std::move(gathering.error);
  TopFacts facts = std::move(gathering.facts);
  lock.unlock();
  if (error) return gathering.done(std::unexpected(*error));
  facts.at = gathering.clock.now();
  if (facts.server.now) facts.ahead = *facts.server.now - facts.at;
  // Tasks come by number, newest first; people want another order.
  std::ranges::stable_sort(facts.running, {},
                           [](const Task& task) { return task.started_at.value_or(never); });
  std::ranges::stable_sort(facts.dead, std::greater<>(),
                           [](const Task& task) { return task.finished_at.value_or(TimePoint{}); });
  gathering.done(std::move(facts));
}

// The key may forbid tasks and allow the rest.
void note_error(Gathering& gathering, Error error, bool tasks) REQUIRES(gathering.mutex) {
  if (tasks && error.code == ErrorCode::invalid) {
    // A queue cannot be named here.
    std::string& why = error.message;
    why.erase(std::min(why.size(), why.find(": name one with ?queue=")));
    gathering.facts.refused = std::move(why);
  } else if (!gathering.error) {
    gathering.error = std::move(error);
  }
}

template <class T, class Keep>
Completion<T> part_of(const std::shared_ptr<Gathering>& gathering, Keep keep) {
  return [gathering, keep](Result<T> answer) {
    bool last = false;
    {
      const Lock lock(gathering->mutex);
      if (answer) {
        keep(gathering->facts, std::move(*answer));
      } else {
        note_error(*gathering, std::move(answer.error()), std::is_same_v<T, TaskPage>);
      }
      last = --gathering->open == 0;
    }
    if (last) finish(*gathering);
  };
}

}  // namespace

void ask_facts(HttpBroker& broker, Clock& clock, std::size_t tasks, Completion<TopFacts> done) {
  const auto gathering = std::make_shared<Gathering>(std::move(done), clock);
  const auto limit =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(tasks, 1, limits::max_page));
  broker.check(part_of<wire::ServerInfo>(
      gathering, [](TopFacts& facts, wire::ServerInfo info) { facts.server = std::move(info); }));
  broker.queues({}, std::nullopt,
                part_of<std::vector<QueueView>>(gathering,
                                                [](TopFacts& facts, std::vector<QueueView> queues) {
                                                  facts.queues = std::move(queues);
                                                }));
  broker.list({}, {.states = {TaskState::processing}, .limit = limit},
              part_of<TaskPage>(gathering, [](TopFacts& facts, TaskPage page) {
                facts.running = std::move(page.tasks);
              }));
  broker.list({}, {.states = {TaskState::failed, TaskState::dead}, .limit = limit},
              part_of<TaskPage>(gathering, [](TopFacts& facts, TaskPage page) {
                facts.dead = std::move(page.tasks);
              }));
}

std::string json_of(const TopFacts& facts, const std::string& url) {
  std::string out;
  wire::TextWriter writer(out);
  wire::append(writer.key("url"), url);
  wire::TextWriter server(writer.key("server"));
  server("version", facts.server.version), server("store", facts.server.store);
  server("started_at", facts.server.started_at), server("now", facts.server.now);
  server("connections", facts.server.connections);
  server.close();
  // As in /v1/queues and /v1/stats.
  const auto list = [&](std::string_view name, bool stats) {
    std::string& text = writer.key(name);
    text += '[';
    for (std::size_t i = 0; i < facts.queues.size(); ++i) {
      if (i != 0) text += ',';
      text += stats ? wire::stats_of(facts.queues[i]) : wire::view_of(facts.queues[i]);
    }
    text += ']';
  };
  list("queues", false), list("stats", true);
  if (facts.refused.empty()) {
    wire::append(writer.key("running"), facts.running);
    wire::append(writer.key("dead"), facts.dead);
  }
  writer.close();
  return out;
}

}  // namespace millrace::cli
