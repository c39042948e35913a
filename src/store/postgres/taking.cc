#include "store/postgres/taking.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/limits.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"
#include "store/postgres/row.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

using embedded::QueueEntry;

bool is_limited(const QueueEntry& queue) {
  return queue.settings().max_concurrent || queue.settings().process_rate;
}

}  // namespace

Taking::Taking(std::span<const TakeRequest> requests, embedded::State& state, TakeCursors& cursors,
               std::chrono::nanoseconds steady, TimePoint now)
    : state_(state), cursors_(cursors), now_(now), began_(steady) {
  cursors.saw(now);
  takes_.reserve(requests.size());
  for (const TakeRequest& request : requests) {
    Take& take = takes_.emplace_back(Take{.request = &request, .queues = {}, .result = {}});
    if (auto good = validate(request); !good) {
      take.result = std::unexpected(std::move(good.error()));
      continue;
    }
    for (const Want& want : request.queues) {
      QueueEntry* queue = state.queue(want.queue);
      if (queue == nullptr) {
        take.result = embedded::unknown_queue(want.queue);
        break;
      }
      const bool first = before_.try_emplace(queue->index, cursors.positions(queue->index)).second;
      if (first && cursors.rescan_if_due(queue->index, steady)) rescans_.push_back(queue->index);
      take.queues.push_back(queue);
    }
  }
}

std::vector<std::uint16_t> Taking::limited() const {
  std::vector<std::uint16_t> queues;
  for (const Take& take : takes_) {
    if (!take.result) continue;
    for (const QueueEntry* queue : take.queues) {
      if (is_limited(*queue)) queues.push_back(queue->index);
    }
  }
  std::ranges::sort(queues);
  queues.erase(std::unique(queues.begin(), queues.end()), queues.end());
  return queues;
}

void Taking::refuse(const UnreadableRates& rates) {
  for (Take& take : takes_) {
    for (const QueueEntry* queue : take.queues) {
      if (!take.result) break;
      if (auto good = rates.check(queue, "take tasks"); !good) {
        take.result = std::unexpected(std::move(good.error()));
      }
    }
  }
}

std::size_t Taking::end_of_part(const Take& take) {
  const auto first = take.queues.begin() + static_cast<std::ptrdiff_t>(take.next);
  auto end = first;
  while (end != take.queues.end() && std::find(first, end, *end) == end) ++end;
  return static_cast<std::size_t>(end - take.queues.begin());
}

bool Taking::has_parts() const {
  return std::ranges::any_of(takes_, [](const Take& take) {
    return take.result && end_of_part(take) != take.queues.size();
  });
}

bool Taking::write(std::size_t index, std::int64_t version, Batch& batch) {
  Take& take = takes_[index];
  if (!take.result || take.bytes >= limits::max_taken_bytes) return false;
  if (take.next == take.queues.size()) return false;
  postgres::Array<std::int32_t> queues;
  postgres::Array<std::int32_t> mosts;
  postgres::Array<std::int64_t> leases;
  postgres::Array<std::int64_t> ageings;
  postgres::Array<TimePoint> seens;
  postgres::Array<std::int32_t> cursor_queues;
  postgres::Array<std::int16_t> priorities;
  postgres::Array<TimePoint> starts;
  postgres::Array<std::int64_t> numbers;
  take.missing.clear();
  const std::size_t end = end_of_part(take);
  for (std::size_t i = take.next; i < end; ++i) {
    const QueueEntry& queue = *take.queues[i];
    if (!embedded::gives_tasks(queue, now_)) continue;
    const std::uint32_t most = embedded::room_in(queue, take.request->queues[i].most, now_);
    if (most == 0) continue;
    const QueueSettings& settings = queue.settings();
    take.missing.emplace(queue.index, most);
    queues.push(queue.index);
    mosts.push(static_cast<std::int32_t>(most));
    leases.push(take.request->lease.value_or(settings.lease).count());
    ageings.push(settings.ageing ? std::optional(settings.ageing->count()) : std::nullopt);
    seens.push(cursors_.ready_by(queue.index, now_));
    for (std::uint8_t priority = priority_count; priority-- > 0;) {
      const TakeCursors::Cursor cursor = cursors_.at(queue.index, priority);
      cursor_queues.push(queue.index);
      priorities.push(priority);
      starts.push(cursor.start);
      numbers.push(static_cast<std::int64_t>(cursor.number));
    }
  }
  take.next = end;
  if (queues.size() == 0) return write(index, version, batch);
  batch.add(sql::Take{.queues = queues,
                      .mosts = mosts,
                      .ageings = ageings,
                      .seens = seens,
                      .version = version,
                      .cursor_queues = cursor_queues,
                      .cursor_priorities = priorities,
                      .cursor_starts = starts,
                      .cursor_numbers = numbers,
                      .now = now_,
                      .bytes = static_cast<std::int64_t>(limits::max_taken_bytes - take.bytes),
                      .leases = leases,
                      .worker = take.request->worker},
            ageings.all_null() ? sql::take : sql::take_ageing);
  take.asked = true;
  return true;
}

void Taking::read(std::size_t index, const postgres::Rows& rows) {
  Take& take = takes_[index];
  std::vector<Row> taken;
  taken.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    taken.push_back(read_taken(rows, i));
    if (!rows.is_null(i, sql::TakenColumns::children)) parents_.push_back(taken.back().slot.id);
  }
  put_in_order(take, taken);
  take.result->reserve(take.result->size() + taken.size());
  for (Row& row : taken) {
    QueueEntry& queue = state_.queue_at(row.slot.queue);
    const QueueSettings& settings = queue.settings();
    row.slot.started_at = now_;
    row.slot.moment = later(now_, take.request->lease.value_or(settings.lease));
    // Below a task that was ready before the clock was set back, others may fall due later.
    if (!settings.ageing && row.slot.start <= now_) {
      cursors_.taken(queue.index, row.slot.priority, {row.slot.start, row.slot.number});
    }
    --take.missing[queue.index];
    if (settings.max_concurrent) ++queue.running;
    if (settings.process_rate) queue.takes.add(*settings.process_rate, now_, 1);
    // The task is leased by now, but must not run without its timeout or its retry rules.
    if (!row.unreadable.empty()) {
      take.unreadable = unreadable_task(row, "take a task").error();
      continue;
    }
    const Lease& lease = take.result->emplace_back(lease_of(std::move(row), settings.name));
    take.bytes += taken_bytes(lease);
  }
  if (take.bytes >= limits::max_taken_bytes) return;
  for (const auto& [queue, count] : take.missing) {
    if (count != 0) cursors_.emptied(queue, now_);
  }
}

// Sorts by the contract: as the queues were named, then by priority, moment and number.
void Taking::put_in_order(const Take& take, std::vector<Row>& taken) const {
  std::unordered_map<std::uint16_t, std::size_t> places;
  for (const QueueEntry* queue : take.queues) places.emplace(queue->index, places.size());
  const auto key = [&](const Row& row) {
    const auto place = places.at(row.slot.queue);
    const auto ageing = state_.queue_at(row.slot.queue).settings().ageing;
    const std::size_t priority =
        ageing ? embedded::effective_priority(row.slot.priority, row.slot.start, *ageing, now_)
               : row.slot.priority;
    return std::tuple(place, priority_count - priority, row.slot.start, row.slot.number);
  };
  if (!std::ranges::is_sorted(taken, {}, key)) std::ranges::sort(taken, {}, key);
}

void Taking::write_all(std::int64_t version, Batch& batch) {
  for (std::size_t i = 0; i < takes_.size(); ++i) write(i, version, batch);
}

void Taking::read_all(std::span<const postgres::Rows> answers) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < takes_.size(); ++i) {
    if (takes_[i].asked) read(i, answers[next++]);
  }
}

void Taking::ended(std::chrono::nanoseconds steady, bool succeeded) {
  for (const std::uint16_t queue : rescans_) cursors_.rescanned(queue, began_, steady);
  if (succeeded) return;
  // Most likely a rescan from the bottom was stopped because it took too long. The next take begins
  // where this one would have begun without it, so tasks further up can still be taken.
  for (const auto& [queue, places] : before_) cursors_.restore(queue, places);
}

std::vector<Result<std::vector<Lease>>> Taking::results() {
  std::vector<Result<std::vector<Lease>>> all;
  all.reserve(takes_.size());
  for (Take& take : takes_) {
    const bool only_that = take.result && take.result->empty() && take.unreadable;
    all.push_back(only_that ? std::unexpected(*take.unreadable) : std::move(take.result));
  }
  return all;
}

}  // namespace millrace::store_postgres
