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

namespace millrace::store_postgres {
namespace {

// What done.sql does: the end of most leases.
bool is_plainly_done(const Settlement& settlement) {
  return settlement.event == Event::done && settlement.follow_ups.empty() &&
         !settlement.error.has_value() && std::holds_alternative<Held>(settlement.expect) &&
         validate(settlement).has_value();
}

struct Split {
  std::vector<std::size_t> plain = {};  // places among the settlements, sorted by id
  std::vector<std::size_t> others = {};
};

// Several settlements or extensions of one task must be looked at one after the other; so must all
// if one of them brings tasks that want a key which another one frees.
Split split(std::span<const Settlement> settlements, std::span<const Extension> extensions) {
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
        !in_order && !twice.contains(settlements[i].id) && is_plainly_done(settlements[i]);
    (plain ? parts.plain : parts.others).push_back(i);
  }
  std::ranges::sort(parts.plain, {}, [&](std::size_t i) { return settlements[i].id; });
  return parts;
}

void add_done(std::span<const Settlement> settlements, const std::vector<std::size_t>& places,
              TimePoint now, Batch& batch) {
  if (places.empty()) return;
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
  postgres::Params& params = batch.add(sql::done);
  params.add(ids), params.add(tokens), params.add(results), params.add(now);
}

// The answer of done.sql: what was not applied, and why. The contract of Held.
postgres::Answer<void> note_refused(const postgres::Rows& rows,
                                    std::span<const Settlement> settlements,
                                    const std::vector<std::size_t>& places, WorkResult& result) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TaskId id{rows.get<Uuid>(i, 0)};
    const auto place = *std::ranges::lower_bound(
        places, id, {}, [&](std::size_t at) { return settlements[at].id; });
    const auto state = rows.get<std::optional<std::int16_t>>(i, 1);
    if (!state) {
      result.settled[place] = embedded::unknown_task(id);
      continue;
    }
    const auto token = rows.get<std::optional<std::uint64_t>>(i, 2);
    if (token != std::get<Held>(settlements[place].expect).token.value) {
      result.settled[place] = embedded::lease_lost(id);
    } else if (static_cast<TaskState>(*state) != TaskState::processing) {
      result.settled[place] = Settled{SettleStatus::already, static_cast<TaskState>(*state)};
    } else {
      return std::unexpected(stale());  // somebody changed it in this very moment
    }
  }
  return {};
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
  const Split parts = split(settlements, extensions);
  return change("work", [&](Connection& connection) -> Answer<WorkResult> {
    WorkResult result;
    result.settled.assign(settlements.size(), Settled{});
    Batch batch;
    batch.add(sql::version);
    add_done(settlements, parts.plain, now, batch);
    if (!parts.others.empty() || !extensions.empty()) {
      Reading reading;
      for (const std::size_t i : parts.others) add_reading(settlements[i], reading);
      for (const Extension& extension : extensions) reading.ids.push_back(extension.id.value);
      if (auto got = read(connection, reading); !got) return std::unexpected(got.error());
      for (const std::size_t i : parts.others) {
        result.settled[i] = embedded::settle(state(), settlements[i], now);
      }
      for (const Extension& extension : extensions) {
        result.extended.push_back(embedded::extend(state(), extension, now));
      }
      book_.write_tasks(batch);
      book_.write_keys(batch);
      lower_marks();  // what was given back may be taken at once
    }
    Taking taking(takes, state(), marks_, clock_.steady(), now);
    auto answer = take(connection, taking, batch);
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (!parts.plain.empty()) {
      auto good = note_refused((*answer)[1], settlements, parts.plain, result);
      if (!good) return std::unexpected(std::move(good.error()));
    }
    taking.ended(clock_.steady());
    result.taken = taking.results();
    return result;
  });
}

void PostgresStore::add_reading(const Settlement& settlement, Reading& reading) {
  reading.ids.push_back(settlement.id.value);
  for (const NewTask& task : settlement.follow_ups) add_reading(task, reading);
}

// ---- Taking
// --------------------------------------------------------------------------------------

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
  if (!limited.empty()) {
    // A limit that is checked in the statement that takes would be exceeded: others take meanwhile.
    postgres::Array<std::int32_t> queues;
    for (const auto queue : limited) queues.push(queue);
    batch.add(sql::lock_queues).add(queues);
    batch.add(sql::used).add(queues);
    if (auto sent = send(false); !sent) return std::unexpected(sent.error());
    read_used(answers.back(), book_);
  }
  for (std::size_t i = 0; i < taking.size(); ++i) {
    while (taking.write(i, version_, batch)) {
      if (auto sent = send(false); !sent) return std::unexpected(sent.error());
      taking.read(i, answers.back());
    }
  }
  for (const auto queue : limited) write_used(state().queue_at(queue), batch);
  if (auto sent = send(true); !sent) return std::unexpected(sent.error());
  return answers;
}

}  // namespace millrace::store_postgres
