#include <algorithm>
#include <set>
#include <variant>

#include "core/limits.h"
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
// one of them brings tasks that want a key which another one frees.
Split split(std::span<const Settlement> settlements, std::span<const Extension> extensions,
            std::size_t most) {
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
    const bool plain =
        !in_order && !twice.contains(settlements[i].id) && is_plainly_done(settlements[i], most);
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

// Why a lease cannot be settled: the contract of Held. nullopt: it seems that it can.
std::optional<Result<Settled>> refusal(const Settlement& settlement, TaskState state,
                                       std::optional<std::uint64_t> token) {
  if (token != std::get<Held>(settlement.expect).token.value) {
    return embedded::lease_lost(settlement.id);
  }
  if (state == TaskState::processing) return std::nullopt;
  return Settled{SettleStatus::already, state};
}

// The answer of done.sql: what was not applied, and why. Returns the tasks that another session
// changed in that very moment, so that they were seen as they were before.
std::vector<std::size_t> note_refused(const postgres::Rows& rows,
                                      std::span<const Settlement> settlements,
                                      const std::vector<std::size_t>& places, WorkResult& result) {
  using At = sql::RefusedColumns;
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TaskId id{rows.get<Uuid>(i, At::id)};
    const auto place = *std::ranges::lower_bound(
        places, id, {}, [&](std::size_t at) { return settlements[at].id; });
    const auto state = rows.get<std::optional<std::int16_t>>(i, At::state);
    if (!state) {
      result.settled[place] = embedded::unknown_task(id);
      continue;
    }
    auto why = refusal(settlements[place], static_cast<TaskState>(*state),
                       rows.get<std::optional<std::uint64_t>>(i, At::token));
    if (why) {
      result.settled[place] = std::move(*why);
    } else {
      changed.push_back(place);
    }
  }
  return changed;
}

}  // namespace

// One round trip where nothing has to be read first: settlements as done, takes from queues without
// limits. Otherwise one or two more.
Result<WorkResult> PostgresStore::work(std::span<const Settlement> settlements,
                                       std::span<const Extension> extensions,
                                       std::span<const TakeRequest> takes, TimePoint now) {
  for (const auto size : {settlements.size(), extensions.size(), takes.size()}) {
    if (auto good = check_batch(size); !good) return std::unexpected(good.error());
  }
  if (auto there = make_partitions(now); !there) return std::unexpected(there.error());
  return change("work", now, [&](Connection& connection) -> Answer<WorkResult> {
    const Split parts = split(settlements, extensions, smallest_task_size_);
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
      lower_cursors(changes);  // a task that was given back may be taken at once
    }
    Taking taking(takes, state(), cursors_, clock_.steady(), now);
    auto answer = take(connection, taking, batch);
    taking.ended(clock_.steady(), answer.has_value());
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (!parts.plain.empty()) {
      const auto changed = note_refused((*answer)[done], settlements, parts.plain, result);
      look_again(connection, settlements, changed, result);
    }
    result.taken = taking.results();
    return result;
  });
}

// The call is committed, and the leases it took must reach its caller: nothing may fail as a whole
// here.
void PostgresStore::look_again(Connection& connection, std::span<const Settlement> settlements,
                               const std::vector<std::size_t>& places, WorkResult& result) {
  if (places.empty()) return;
  book_.close();
  std::vector<Uuid> ids;
  for (const std::size_t place : places) ids.push_back(settlements[place].id.value);
  connection.begin();
  const auto got = read_tasks(connection, ids);
  for (const std::size_t place : places) {
    if (!got) {
      result.settled[place] = std::unexpected(to_error(got.error(), "settle a task"));
      continue;
    }
    const TaskId& id = settlements[place].id;
    const auto at = state().find(id);
    if (at == embedded::no_slot) {
      result.settled[place] = embedded::unknown_task(id);
      continue;
    }
    const embedded::Slot& slot = state().slot(at);
    auto why = refusal(settlements[place], slot.state, slot.token);
    result.settled[place] = why ? std::move(*why) : embedded::lease_lost(id);
  }
}

void PostgresStore::add_reading(const Settlement& settlement, Reading& reading) {
  reading.ids.push_back(settlement.id.value);
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
