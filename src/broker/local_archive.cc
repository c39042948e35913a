// Tasks that come from an export.
#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "broker/local_broker.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/transition.h"
#include "store/store.h"

namespace millrace {
namespace {

using Puts = std::vector<Result<Put>>;

std::size_t bytes_of(const std::vector<Task>& tasks) {
  std::size_t bytes = 0;
  for (const Task& task : tasks) {
    bytes += sizeof(Task) + task.payload.size() + task.metadata.size() + task.result.size();
  }
  return bytes;
}

// The first moment at which one of them is due.
TimePoint first_moment(const std::vector<Task>& tasks) {
  TimePoint first = never;
  for (const Task& task : tasks) {
    if (is_final(task.state)) continue;
    first = std::min({first, task.start, task.start_by.value_or(never)});
  }
  return first;
}

}  // namespace

void LocalBroker::restore(Ask ask, std::vector<Task> tasks, Completion<Puts> done) {
  if (auto good = check::count("tasks", tasks.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  const std::size_t bytes = bytes_of(tasks);
  const TimePoint first = first_moment(tasks);
  call<Puts>(
      ask,
      [this, tasks = std::move(tasks)](Store& store, TimePoint now) -> Result<Puts> {
        Puts puts;
        for (std::span<const Task> rest = tasks; !rest.empty();) {
          const auto part = rest.first(std::min(books_.traits.batch, rest.size()));
          rest = rest.subspan(part.size());
          auto answer = store.restore(part, now);
          if (!answer) return std::unexpected(std::move(answer.error()));
          puts.insert(puts.end(), std::move_iterator(answer->begin()),
                      std::move_iterator(answer->end()));
        }
        return puts;
      },
      [this, first, done = std::move(done)](Result<Puts> puts) mutable {
        if (puts && first != never) runner_.wake_at(sweeper_, first);
        done(std::move(puts));
      },
      bytes);
}

}  // namespace millrace
