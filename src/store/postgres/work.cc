#include <algorithm>
#include <set>
#include <variant>

#include "core/limits.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/rates.h"
#include "store/postgres/sql.h"
#include "store/postgres/taking.h"
#include "store/postgres/write.h"

namespace millrace::store_postgres {
namespace {

// Whether a task may be final after it.
bool may_end(Event event) {
  for (std::size_t i = 0; i < state_count; ++i) {
    const auto next = next_state(static_cast<TaskState>(i), event);
    if (next && is_final(*next)) return true;
  }
  return false;
}

// What done.sql settles: the end of most leases. `most`: bytes of a result that every queue takes.
bool is_plainly_done(const Settlement& settlement, std::size_t most) {
  return settlement.event == Event::done && settlement.follow_ups.empty() &&
         settlement.result.size() <= most && !settlement.error.has_value() &&
         std::holds_alternative<Held>(settlement.expect) && validate(settlement).has_value();
}

struct Split {
  std::vector<std::size_t> plain = {};  // places among the settlements, sorted by id
  std::vector<std::size_t> others = {};
};

// Several settlements or extensions of one task must be applied one after the other; so must all if
// one of them brings tasks that want a key which another one frees. `is_parent(id)`: others wait
// for the task.
Split split(std::span<const Settlement> settlements, std::span<const Extension> extensions,
            std::size_t most, const auto& is_parent) {
  Split parts;
  std::set<TaskId> seen;
  std::set<TaskId> twice;
  bool in_order = false;
  for (const Settlement& settlement : settlements) {
    if (!seen.insert(settlement.id).second) twice.insert(settlement.id);
    for (const NewTask& task : settlement.follow_ups) {
      in_order = in_order || task.unique.has_value();
      twice.insert(task.id);
    }
  }
  for (const Extension& extension : extensions) twice.insert(extension.id);
  for (std::size_t i = 0; i < settlements.size(); ++i) {
    const TaskId& id = settlements[i].id;
    const bool plain =
        !in_order && !twice.contains(id) && !is_parent(id) && is_plainly_done(settlements[i], most);
    (plain ? parts.plain : parts.others).push_back(i);
  }
  std::ranges::sort(parts.plain, {}, [&](std::size_t i) { return settlements[i].id; });
  return parts;
}

// Returns the place of the statement in the batch.
std::size_t add_done(std::span<const Settlement> settlements,
                     const std::vector<std::size_t>& places,
                     std::span<const std::int32_t> keeping_nothing, TimePoint now, Batch& batch) {
  if (places.empty()) return 0;
  postgres::Array<Uuid> ids;
  postgres::Array<std::int64_t> tokens;
  postgres::Array<postgres::Bytes> results;
  for (const std::size_t place : places) {
    const Settlement& settlement = settlements[place];
    ids.push(settlement.id.value);
    tokens.push(static_cast<std::int64_t>(std::get<Held>(settlement.expect).token.value));
    results.push(settlement.result.empty() ? std::nullopt
                                           : std::optional(postgres::Bytes{settlement.result}));
  }
  postgres::Array<std::int32_t> queues;
  for (const std::int32_t queue : keeping_nothing) queues.push(queue);
  return batch.add(sql::Done{
      .ids = ids, .tokens = tokens, .results = results, .now = now, .keeping_nothing = queues});
}

// Why a lease cannot be settled: the contract of Held.
Result<Settled> refusal(const Settlement& settlement, TaskState state,
                        std::optional<std::uint64_t> token) {
  if (token != std::get<Held>(settlement.expect).token.value) {
    return embedded::lease_lost(settlement.id);
  }
  return Settled{SettleStatus::already, state};
}

// The answer of done.sql: what was not applied, and why.
void note_refused(const postgres::Rows& rows, std::span<const Settlement> settlements,
                  const std::vector<std::size_t>& places, WorkResult& result) {
  using At = sql::RefusedColumns;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TaskId id{rows.get<Uuid>(i, At::id)};
    const auto place = *std::ranges::lower_bound(
        places, id, {}, [&](std::size_t at) { return settlements[at].id; });
    const auto state = rows.get<std::optional<std::int16_t>>(i, At::state);
    if (!state) {
      result.settled[place] = embedded::unknown_task(id);
      continue;
    }
    result.settled[place] = refusal(settlements[place], static_cast<TaskState>(*state),
                                    rows.get<std::optional<std::uint64_t>>(i, At::token));
  }
}

}  // namespace

// One round trip where nothing has to be read first: settlements as done of tasks that no others
// wait for, takes from queues without limits. Otherwise one or two more.
Result<WorkResult> PostgresStore::work(std::span<const Settlement> settlements,
                                       std::span<const Extension> extensions,
                                       std::span<const TakeRequest> takes, TimePoint now) {
  for (const auto size : {settlements.size(), extensions.size(), takes.size()}) {
    if (auto good = check_batch(size); !good) return std::unexpected(good.error());
  }
  if (auto there = make_partitions(now); !there) return std::unexpected(there.error());
  bool by_book = false;  // others wait for a task of which this process did not know it
  return change("work", now, [&](Connection& connection) -> Answer<WorkResult> {
    const Split parts = split(settlements, extensions, smallest_task_size_,
                              [&](const TaskId& id) { return by_book || parents_.contains(id); });
    WorkResult result;
    result.settled.assign(settlements.size(), Settled{});
    Batch batch;
    batch.add(sql::Guard{.version = version_});
    const std::size_t done = add_done(settlements, parts.plain, keeping_nothing_, now, batch);
    if (!parts.others.empty() || !extensions.empty()) {
      Reading reading;
      for (const std::size_t i : parts.others) add_reading(settlements[i], reading);
      for (const Extension& extension : extensions) reading.ids.push_back(extension.id.value);
      if (auto got = read(connection, reading); !got) return std::unexpected(got.error());
      for (const std::size_t i : parts.others) {
        result.settled[i] = change_task(settlements[i].id, "settle a task", [&] {
          return embedded::settle(state(), settlements[i], now);
        });
      }
      for (const Extension& extension : extensions) {
        result.extended.push_back(change_task(extension.id, "extend a lease", [&] {
          return embedded::extend(state(), extension, now);
        }));
      }
      const book::Changes changes = book_.changes();
      write_changes(book_, changes, batch);
      note_changes(changes);  // a task that was given back may be taken at once
      result.more = !state().orphans.empty();
    }
    result.more = result.more || tells_later_;
    Taking taking(takes, state(), cursors_, clock_.steady(), now);
    auto answer = take(connection, taking, batch);
    taking.ended(clock_.steady(), answer.has_value());
    if (!answer) {
      by_book = by_book || is_parent_settled(answer.error());
      return std::unexpected(std::move(answer.error()));
    }
    if (!parts.plain.empty()) {
      note_refused((*answer)[done], settlements, parts.plain, result);
    }
    for (const std::size_t i : parts.others) {
      const Result<Settled>& settled = result.settled[i];
      if (settled && is_final(settled->state)) parents_.erase(settlements[i].id);
    }
    for (const TaskId& id : taking.parents()) remember_parent(id);
    result.taken = taking.results();
    return result;
  });
}

void PostgresStore::add_reading(const Settlement& settlement, Reading& reading) {
  reading.ids.push_back(settlement.id.value);
  if (may_end(settlement.event)) reading.ends.push_back(settlement.id.value);
  for (const NewTask& task : settlement.follow_ups) add_follow_up(task, reading);
}

// ---- Taking -------------------------------------------------------------------------------------

// Sends what the call has to send so far, takes, and commits. The answers to `batch` come first.
PostgresStore::Answer<std::vector<postgres::Rows>> PostgresStore::take(Connection& connection,
                                                                       Taking& taking,
                                                                       Batch& batch) {
  std::vector<postgres::Rows> answers;
  const auto send = [&](bool last) -> Answer<void> {
    if (batch.size() == 0 && !last) return {};
    auto answer =
        last ? connection.commit(batch.statements()) : connection.send(batch.statements());
    if (!answer) return std::unexpected(std::move(answer.error()));
    for (postgres::Rows& rows : *answer) answers.push_back(std::move(rows));
    batch.clear();
    return check_version(answers.front());
  };
  const std::vector<std::uint16_t> limited = taking.limited();
  if (limited.empty() && !taking.has_parts()) {
    const std::size_t first = batch.size();
    taking.write_all(version_, batch);
    if (auto sent = send(true); !sent) return std::unexpected(sent.error());
    taking.read_all(std::span(answers).subspan(first));
    return answers;
  }
  UnreadableRates unreadable;
  if (!limited.empty()) {
    // A limit that is checked in the statement that takes would be exceeded, because others take
    // meanwhile.
    postgres::Array<std::int32_t> queues;
    for (const auto queue : limited) queues.push(queue);
    batch.add(sql::LockQueues{.queues = queues});
    batch.add(sql::Used{.queues = queues});
    if (auto sent = send(false); !sent) return std::unexpected(sent.error());
    unreadable = read_used(answers.back(), book_);
    taking.refuse(unreadable);
  }
  for (std::size_t i = 0; i < taking.size(); ++i) {
    while (taking.write(i, version_, batch)) {
      if (auto sent = send(false); !sent) return std::unexpected(sent.error());
      taking.read(i, answers.back());
    }
  }
  for (const auto queue : limited) {
    if (!unreadable.has(queue)) write_used(state().queue_at(queue), batch);
  }
  if (auto sent = send(true); !sent) return std::unexpected(sent.error());
  return answers;
}

}  // namespace millrace::store_postgres
