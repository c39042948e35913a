// What LocalBroker does with many tasks, a bounded piece at a time: dead letters, and the waiting
// tasks of a queue.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "broker/local_broker.h"
#include "broker/local_parts.h"
#include "broker/local_records.h"
#include "core/check.h"
#include "core/limits.h"
#include "store/store.h"

namespace millrace {
namespace {

using States = Broker::States;

constexpr std::size_t cleared_per_round = 1000;
// A retry reads the old outcome of each task, perhaps from a disk, while other callers wait.
constexpr std::uint32_t dead_per_round = 250;

}  // namespace

struct LocalBroker::Rounds {
  Ask ask = {};
  Completion<Handled> handled = {};
  Completion<std::uint64_t> cleared = {};
  ListRequest list = {};
  QueueRef queue = {};
  Handled sum = {};
  std::vector<TaskId> ids = {};  // of the last piece
  FoundTasks tasks = {};         // of the same piece
  RecordedTasks recorded = {};   // those of them that are acted on
  bool more = true;              // there are further pieces: those of the list
};

void LocalBroker::handle_dead(Ask ask, DeadLetters which, DeadAction action,
                              Completion<Handled> done) {
  if (auto good = check::count("tasks", which.ids.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  const auto rounds = std::make_shared<Rounds>(Rounds{.ask = ask, .handled = std::move(done)});
  rounds->ids = std::move(which.ids);
  rounds->more = rounds->ids.empty();
  rounds->list = {.queue = std::move(which.queue),
                  .states = {TaskState::failed, TaskState::dead},
                  .type = std::move(which.type),
                  .limit = dead_per_round};
  next_dead(rounds, action);
}

// Reads the next piece beside the rounds.
void LocalBroker::next_dead(const std::shared_ptr<Rounds>& rounds, DeadAction action) {
  read<void>(
      rounds->ask,
      [this, rounds](Reader& reader, TimePoint) -> Result<void> {
        if (!rounds->more) {
          auto found = find_all(reader, rounds->ids, head_only, books_.traits.batch);
          if (!found) return std::unexpected(std::move(found.error()));
          rounds->tasks = std::move(*found);
          return {};
        }
        auto page = reader.list(rounds->list);
        if (!page) return std::unexpected(std::move(page.error()));
        rounds->ids.clear(), rounds->tasks.clear();
        for (Task& task : page->tasks) {
          rounds->ids.push_back(task.id);
          rounds->tasks.emplace_back(std::move(task));
        }
        rounds->list.before = page->next;
        rounds->more = page->next.has_value();
        return {};
      },
      [this, rounds, action](Result<void> good) {
        if (!good) return rounds->handled(std::unexpected(std::move(good.error())));
        act_on_dead(rounds, action);
      },
      ReadCost::walk);
}

// Only dead letters: a cancelled task, even if it is named, is not one, and a task of the list may
// have been retried meanwhile.
void LocalBroker::act_on_dead(const std::shared_ptr<Rounds>& rounds, DeadAction action) {
  const bool retry = action == DeadAction::retry;
  call<States>(
      rounds->ask,
      [this, rounds, retry](Store& store, TimePoint now) -> Result<States> {
        const std::size_t batch = books_.traits.batch;
        auto good = bring_up_to_date(store, rounds->ids, rounds->tasks, head_only, batch);
        if (!good) return std::unexpected(std::move(good.error()));
        std::vector<TaskId> dead;
        rounds->recorded.clear();
        const BulkAction as = retry ? BulkAction::retry : BulkAction::remove;
        for (const auto& task : rounds->tasks) {
          if (!task || refusal(rounds->ask, as, task->id, task->queue) ||
              !(task->state == TaskState::failed || task->state == TaskState::dead)) {
            ++rounds->sum.refused;
            continue;
          }
          dead.push_back(task->id);
          rounds->recorded.emplace_back(recorded_task(*task));
        }
        return in_batches(dead, batch, [&](auto part) {
          return retry ? store.retry(part, now) : store.remove(part, now);
        });
      },
      [this, rounds, action, retry](Result<States> states) {
        if (!states) return rounds->handled(std::unexpected(std::move(states.error())));
        record(books_, rounds->recorded, *states, retry ? EventKind::retried : EventKind::removed,
               clock_.now());
        for (const auto& state : *states) ++(state ? rounds->sum.done : rounds->sum.refused);
        if (!rounds->more) return rounds->handled(rounds->sum);
        rounds->ask.deadline = never;  // it has begun
        next_dead(rounds, action);
      });
}

// No events: the store does not say which tasks it removed.
void LocalBroker::clear(Ask ask, QueueRef queue, Completion<std::uint64_t> done) {
  const auto known = books_.queues.find(queue);
  if (known && !ask.internal && !may_touch(BulkAction::remove, known->settings.name)) {
    return done(std::unexpected(Books::check_internal(false, *known).error()));
  }
  next_clear(std::make_shared<Rounds>(
      Rounds{.ask = ask, .cleared = std::move(done), .queue = std::move(queue)}));
}

void LocalBroker::next_clear(const std::shared_ptr<Rounds>& rounds) {
  call<std::size_t>(
      rounds->ask,
      [rounds](Store& store, TimePoint now) {
        return store.clear(rounds->queue, cleared_per_round, now);
      },
      [this, rounds](Result<std::size_t> removed) {
        if (!removed) return rounds->cleared(std::unexpected(std::move(removed.error())));
        rounds->sum.done += *removed;
        if (*removed == cleared_per_round) {
          rounds->ask.deadline = never;
          return next_clear(rounds);
        }
        if (books_.waiters.look_at_all()) runner_.wake_at(books_.waiters, TimePoint::min());
        rounds->cleared(rounds->sum.done);
      });
}

}  // namespace millrace
