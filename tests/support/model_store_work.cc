// Settle, extend, take.
#include <algorithm>

#include "core/decide.h"
#include "core/limits.h"
#include "core/transition.h"
#include "core/validate.h"
#include "tests/support/model_store.h"

namespace millrace::test {

namespace {

constexpr Duration grace = std::chrono::seconds(30);  // beyond a run's timeout

template <class T>
void keep_newest(std::vector<T>& values, std::size_t most) {
  if (values.size() > most) {
    values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(most));
  }
}

Lease lease_of(const Task& task, Token token) {
  return {.id = task.id,
          .number = task.number,
          .token = token,
          .until = task.lease_until.value_or(TimePoint{}),
          .queue = task.queue,
          .type = task.type,
          .payload = task.payload,
          .content_type = task.content_type,
          .priority = task.priority,
          .counters = task.counters,
          .created_at = task.created_at,
          .start = task.start,
          .previous_start = task.previous_start,
          .started_at = task.started_at.value_or(TimePoint{}),
          .start_by = task.start_by,
          .timeout = task.timeout,
          .max_lost = task.max_lost,
          .retry = task.retry,
          .unique = task.unique,
          .callback = task.callback,
          .keep_for = task.keep_for,
          .client_id = task.client_id,
          .request_id = task.request_id,
          .group = task.group,
          .metadata = task.metadata,
          .tags = task.tags,
          .parent = task.parent,
          .cost = task.cost,
          .after = task.after,
          .keep_completed = task.keep_completed,
          .keep_dead = task.keep_dead,
          .checkpoint = task.checkpoint,
          .answer = task.answer};
}

}  // namespace

Result<WorkResult> ModelStore::work(std::span<const Settlement> settlements,
                                    std::span<const Extension> extensions,
                                    std::span<const TakeRequest> takes, TimePoint now) {
  const auto most = traits().batch;
  if (settlements.size() > most || extensions.size() > most || takes.size() > most) {
    return fail(ErrorCode::invalid, "the batch is too large");
  }
  WorkResult result;
  for (const auto& settlement : settlements) result.settled.push_back(settle(settlement, now));
  for (const auto& extension : extensions) result.extended.push_back(extend(extension, now));
  for (const auto& request : takes) result.taken.push_back(take(request, now));
  return result;
}

// ---- Settle -----------------------------------------------------------------------------------

Result<Settled> ModelStore::settle(const Settlement& settlement, TimePoint now) {
  if (auto valid = validate(settlement); !valid) return std::unexpected(valid.error());
  auto* record = record_of(settlement.id);
  if (record == nullptr) return fail(ErrorCode::not_found, "no such task");
  if (auto refused = refusal(settlement, *record, now)) return *refused;
  const auto& settings = line_of(record->task.queue)->queue.settings;
  if (auto fits = check_size(settings, settlement.result.size()); !fits) {
    return std::unexpected(fits.error());
  }
  if (auto valid = check_follow_ups(settlement.follow_ups, now); !valid) {
    return std::unexpected(valid.error());
  }
  const auto state = next_state(record->task.state, settlement.event);
  apply(settlement, *record, now);
  for (const auto& task : settlement.follow_ups) put_unlimited(task, now);
  return Settled{SettleStatus::applied, *state};
}

// Why a settlement is not applied; nullopt if it may be.
std::optional<Result<Settled>> ModelStore::refusal(const Settlement& settlement,
                                                   const Record& record, TimePoint now) const {
  if (const auto* unchanged = std::get_if<Unchanged>(&settlement.expect)) {
    const bool due = settlement.event == Event::cancel
                         ? record.orphan.has_value()
                         : record.task.start_by && *record.task.start_by <= now;
    if (!is_waiting(record.task.state) || record.task.version != unchanged->version || !due) {
      return fail(ErrorCode::conflict, "the task is not what it was");
    }
    return std::nullopt;
  }
  const auto* lost = std::get_if<Lost>(&settlement.expect);
  const auto token = lost != nullptr ? lost->token : std::get<Held>(settlement.expect).token;
  const bool same = token != Token{} && record.token == token;
  if (same && lost == nullptr && record.settled) {
    return Settled{SettleStatus::already, record.task.state};
  }
  if (!same || record.task.state != TaskState::processing) {
    return fail(ErrorCode::lease_lost, "another token");
  }
  if (lost != nullptr && (record.task.lease_until != lost->until || lost->until > now)) {
    return fail(ErrorCode::lease_lost, "the lease goes on");
  }
  if (record.task.cancel_requested && settlement.event != Event::done &&
      settlement.event != Event::cancel) {
    return Settled{SettleStatus::cancel_requested, record.task.state};
  }
  return std::nullopt;
}

void ModelStore::apply(const Settlement& settlement, Record& record, TimePoint now) {
  auto& task = record.task;
  const bool ran = task.state == TaskState::processing;
  touch(record, now);
  if (ran && settlement.cost) correct(line_of(record), task, *settlement.cost, now);
  if (ran && settlement.event != Event::give_back) {
    task.history.push_back({.started_at = *task.started_at,
                            .ended_at = now,
                            .event = settlement.event,
                            .worker = task.worker,
                            .error_code = settlement.error ? settlement.error->code : "",
                            .error_message = settlement.error ? settlement.error->message : ""});
    keep_newest(task.history, limits::max_history);
  }
  if (settlement.event == Event::retry || settlement.event == Event::snooze ||
      settlement.event == Event::park || settlement.event == Event::lose ||
      settlement.event == Event::exhaust) {
    task.counters.attempts = settlement.counters.attempts;
    task.counters.retries = settlement.counters.retries;
    task.counters.lost = settlement.counters.lost;
  }
  if ((settlement.error && settlement.event != Event::give_back) ||
      settlement.event == Event::done) {
    task.error = settlement.error;
  }
  if (settlement.event == Event::done) task.result = settlement.result;
  task.lease_until.reset();
  task.cancel_requested = false;
  if (std::holds_alternative<Held>(settlement.expect)) record.settled = true;
  if (std::holds_alternative<Lost>(settlement.expect)) record.token = {};

  const auto state = *next_state(task.state, settlement.event);
  if (settlement.event == Event::retry || settlement.event == Event::snooze ||
      settlement.event == Event::park || settlement.event == Event::lose) {
    task.previous_start = task.start;
    task.start = settlement.ready;
  }
  if (settlement.checkpoint) task.checkpoint = *settlement.checkpoint;
  if (settlement.event == Event::park) task.answer.reset();
  if (!is_final(state) && settlement.started) task.start_by.reset();
  task.state = state;
  if (is_final(state)) finish(record, state, now);
}

// ---- Extend -----------------------------------------------------------------------------------

Result<Extended> ModelStore::extend(const Extension& extension, TimePoint now) {
  if (auto valid = validate(extension); !valid) return std::unexpected(valid.error());
  auto* record = record_of(extension.id);
  if (record == nullptr) return fail(ErrorCode::not_found, "no such task");
  if (record->task.state != TaskState::processing || record->token != extension.token ||
      extension.token == Token{}) {
    return fail(ErrorCode::lease_lost, "another token");
  }
  auto& task = record->task;
  const auto& settings = line_of(*record).queue.settings;
  auto until = later(now, extension.lease.value_or(settings.lease));
  if (auto timeout = timeout_of(task.timeout, task.type, settings)) {
    until = std::min(until, later(later(*task.started_at, *timeout), grace));
  }
  task.lease_until = std::max(*task.lease_until, until);
  if (extension.progress) task.progress = *extension.progress;
  if (extension.checkpoint) task.checkpoint = *extension.checkpoint;
  for (const auto& line : extension.log) task.log.push_back({.at = now, .text = line});
  keep_newest(task.log, limits::max_log_lines);
  touch(*record, now);
  return Extended{*task.lease_until, task.cancel_requested};
}

// ---- Take -------------------------------------------------------------------------------------

Result<std::vector<Lease>> ModelStore::take(const TakeRequest& request, TimePoint now) {
  if (auto valid = validate(request); !valid) return std::unexpected(valid.error());
  for (const auto& want : request.queues) {
    if (line_of(want.queue) == nullptr) return fail(ErrorCode::not_found, "no such queue");
  }
  std::vector<Lease> leases;
  for (const auto& want : request.queues)
    take_from(*line_of(want.queue), want, request, now, leases);
  return leases;
}

void ModelStore::take_from(Line& line, const Want& want, const TakeRequest& request, TimePoint now,
                           std::vector<Lease>& leases) {
  const auto& settings = line.queue.settings;
  if (!settings.active || line.queue.removing) return;
  if (settings.paused_until && *settings.paused_until > now) return;
  for (std::uint32_t given = 0; given < want.most; ++given) {
    const auto running =
        count(settings.name, [](TaskState state) { return state == TaskState::processing; });
    if (settings.max_concurrent && running >= *settings.max_concurrent) return;
    auto* record = best(line, now);
    if (record == nullptr || !fits_rate(line, record->task, now)) return;
    charge(line, record->task, now);
    leases.push_back(lease(*record, request, now));
  }
}

bool ModelStore::takeable(const Task& task, TimePoint now) {
  return is_ready(task, now) && (!task.start_by || *task.start_by >= now);
}

bool ModelStore::is_ready(const Task& task, TimePoint now) {
  if (task.state == TaskState::queued) return true;  // whatever the clock says by now
  return (task.state == TaskState::delayed || task.state == TaskState::retrying) &&
         task.start <= now;
}

Lease ModelStore::lease(Record& record, const TakeRequest& request, TimePoint now) {
  auto& task = record.task;
  touch(record, now);
  task.state = *next_state(task.state, Event::take);
  task.started_at = now;
  task.lease_until = later(now, request.lease.value_or(line_of(record).queue.settings.lease));
  task.worker = request.worker;
  ++task.counters.deliveries;
  record.token = Token{++last_token_};
  record.settled = false;
  if (task.unique && task.unique->scope == UniqueScope::until_started) record.holds_key = false;
  return lease_of(task, record.token);
}

// ---- What is overdue --------------------------------------------------------------------------

Result<std::vector<Overdue>> ModelStore::due(TimePoint now, const DueRequest& request) {
  if (request.limit < 1 || request.limit > limits::max_due) {
    return fail(ErrorCode::invalid, "limit must be 1 to 1,000");
  }
  std::vector<std::pair<TimePoint, Overdue>> found;
  for (const auto& [number, record] : records_) {
    const auto& task = record.task;
    if (task.state == TaskState::processing && *task.lease_until <= now) {
      if (!request.leases && *task.lease_until > *task.started_at) continue;
      found.emplace_back(*task.lease_until, Overdue{.lease = lease_of(task, record.token),
                                                    .expect = Lost{record.token, *task.lease_until},
                                                    .cancel_requested = task.cancel_requested});
    } else if (is_waiting(task.state) && task.start_by && *task.start_by <= now) {
      found.emplace_back(*task.start_by, Overdue{.lease = lease_of(task, Token{}),
                                                 .expect = Unchanged{task.version},
                                                 .cancel_requested = task.cancel_requested});
    }
  }
  std::ranges::stable_sort(found, {}, &std::pair<TimePoint, Overdue>::first);
  std::vector<Overdue> result;
  for (auto& [moment, overdue] : found) {
    if (result.size() == request.limit) break;
    result.push_back(std::move(overdue));
  }
  for (const auto& [number, record] : records_) {
    if (!record.orphan || result.size() == request.limit) continue;
    result.push_back({.lease = lease_of(record.task, Token{}),
                      .expect = Unchanged{record.task.version},
                      .cancel_requested = record.task.cancel_requested,
                      .parent = record.orphan});
  }
  return result;
}

}  // namespace millrace::test
