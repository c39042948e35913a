// The history that LocalBroker shows, and what it keeps of the last minute.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "broker/history_memo.h"
#include "broker/history_sum.h"
#include "broker/local_broker.h"
#include "broker/type_sum.h"
#include "core/limits.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "store/store.h"

namespace millrace {
namespace {

constexpr std::uint32_t first_page = 16;
constexpr std::uint32_t greatest_page = 250;
constexpr std::size_t bytes_per_page = 256 * limits::kib;

// In real time: stop() waits no longer than this for a disk that accepts nothing.
constexpr std::chrono::seconds closing_patience(2);

// So that reading and decoding a page takes about a millisecond, whatever is in it.
std::uint32_t next_limit(const std::vector<Memo>& page) {
  std::size_t bytes = page.size();
  for (const Memo& memo : page) bytes += memo.value.size();
  const std::size_t fit = bytes_per_page * page.size() / std::max<std::size_t>(bytes, 1);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(fit, first_page, greatest_page));
}

}  // namespace

struct LocalBroker::Walk {
  Ask ask = {};
  Completion<History> done = {};
  HistorySum sum;
  std::string after = {};
  std::string end = {};  // the first key that is not wanted
  std::uint32_t limit = first_page;
  bool last = false;
  std::shared_ptr<TypeSum> types = nullptr;  // null: not asked for
};

void LocalBroker::history(Ask ask, HistoryRequest request, Completion<History> done) {
  walk_history(ask, std::move(request), std::move(done), nullptr);
}

void LocalBroker::types(Ask ask, HistoryRequest request, Completion<TypesPast> done) {
  auto types = std::make_shared<TypeSum>();
  const HistoryStep& step = request.step == history_hour.length ? history_hour : history_minute;
  const TimePoint from = beginning_of(step, std::max(request.from, TimePoint{}));
  auto then = [types, from, done = std::move(done)](const Result<History>& found) mutable {
    if (!found) return done(std::unexpected(found.error()));
    done(types->past(from));
  };
  walk_history(ask, std::move(request), std::move(then), types);
}

void LocalBroker::walk_history(Ask ask, HistoryRequest request, Completion<History> done,
                               std::shared_ptr<TypeSum> types) {
  if (request.step != history_minute.length && request.step != history_hour.length) {
    return done(fail(ErrorCode::invalid,
                     fmt::format("step is {}; it must be 1m or 1h", format_duration(request.step)),
                     "step"));
  }
  request.from = std::max(request.from, TimePoint{});
  const auto walk = std::make_shared<Walk>(
      Walk{.ask = ask, .done = std::move(done), .sum = HistorySum(std::move(request))});
  walk->types = std::move(types);
  const HistoryStep& step = walk->sum.step();
  const HistoryRequest& wanted = walk->sum.request();
  walk->after = history_key(step, beginning_of(step, wanted.from) - step.length);
  walk->end = history_key(step, wanted.until);
  next_page(walk);
}

Result<std::vector<Memo>> LocalBroker::recall_page(Reader& reader, Walk& walk, TimePoint now) {
  auto page = reader.recall(
      {.prefix = std::string(walk.sum.step().prefix), .after = walk.after, .limit = walk.limit},
      now);
  if (page) walk.last = page->size() < walk.limit || page->back().key >= walk.end;
  return page;
}

// What the store does not have yet is added to the last page, where it belongs. The last page is
// read on the thread that writes history, so that nothing is written in between.
Result<std::vector<Memo>> LocalBroker::read_page(Store& store, Walk& walk, TimePoint now) {
  HistorySum& sum = walk.sum;
  const HistoryStep& step = sum.step();
  auto page = recall_page(store, walk, now);
  if (!page || !walk.last) return page;
  if (walk.types != nullptr) add_types(walk, now);
  history_.look_at_unwritten(
      step, [&](TimePoint minute, const HistoryMemo& memo) { sum.add(minute, memo); });
  const auto rows = books_.metrics.sum_minutes(
      now, [&](TimePoint minute, std::string_view queue, std::string_view type) {
        return sum.wants(minute, queue, type);
      });
  for (const auto& [minute, row] : rows) sum.add(minute, row);
  if (sum.by_name()) {
    books_.metrics.each_row(
        now, [&](TimePoint minute, const MinuteRow& row) { sum.add_line(minute, row); });
  }
  if (!books_.options.history || !sum.wants(now)) return page;
  std::optional<QueueRef> queue;
  if (sum.request().queue) queue = *sum.request().queue;
  const auto counts = store.counts(queue, now);
  if (!counts && counts.error().code == ErrorCode::unavailable) {
    return std::unexpected(counts.error());
  }
  if (!counts) return page;  // the queue does not exist any more
  sum.see(now, *counts);
  return page;
}

// What no memo has yet.
void LocalBroker::add_types(Walk& walk, TimePoint now) {
  history_.look_at_unwritten(walk.sum.step(), [&](TimePoint minute, const HistoryMemo& memo) {
    walk.types->add(walk.sum, minute, memo);
  });
  books_.metrics.each_row(
      now, [&](TimePoint minute, const MinuteRow& row) { walk.types->add(walk.sum, minute, row); });
}

void LocalBroker::add_page(Walk& walk, const std::vector<Memo>& page) {
  const std::size_t prefix = walk.sum.step().prefix.size();
  for (const Memo& memo : page) {
    const auto at = parse_time(std::string_view(memo.key).substr(prefix));
    const auto read = HistoryMemo::decode(memo.value);
    if (at && read) {
      if (walk.types != nullptr) walk.types->add(walk.sum, *at, *read);
      walk.sum.add(*at, *read);
      continue;
    }
    const Error& error = at ? read.error() : at.error();
    books_.log()(LogLevel::warning, fmt::format("memo {} is left out of the history: {}",
                                                in_quotes(memo.key), error.message));
  }
  if (page.empty()) return;
  walk.after = page.back().key;
  walk.limit = next_limit(page);
}

void LocalBroker::next_page(const std::shared_ptr<Walk>& walk) {
  read<std::vector<Memo>>(
      walk->ask, [walk](Reader& reader, TimePoint now) { return recall_page(reader, *walk, now); },
      [this, walk](Result<std::vector<Memo>> page) {
        if (!page) return walk->done(std::unexpected(std::move(page.error())));
        walk->ask.deadline = never;  // it has begun
        if (walk->last) return last_page(walk);
        add_page(*walk, *page);
        next_page(walk);
      });
}

void LocalBroker::last_page(const std::shared_ptr<Walk>& walk) {
  call<std::vector<Memo>>(
      walk->ask, [this, walk](Store& store, TimePoint now) { return read_page(store, *walk, now); },
      [this, walk](Result<std::vector<Memo>> page) {
        if (!page) return walk->done(std::unexpected(std::move(page.error())));
        add_page(*walk, *page);
        if (walk->last) return walk->done(walk->sum.history());
        next_page(walk);  // more has been written meanwhile
      });
}

// Stores what was counted since the last memo, if that is possible.
void LocalBroker::keep_last_minute() {
  std::promise<void> promise;
  const auto answered = promise.get_future();
  coalescer_.call<void>(
      self_, [this](Store& store, TimePoint now) { return history_.write_all(store, now); }, never,
      [this, promise = std::move(promise)](const Result<void>& kept) mutable {
        if (!kept) {
          books_.log()(LogLevel::warning, fmt::format("the history of the last minute is lost: {}",
                                                      kept.error().message));
        }
        promise.set_value();
      });
  answered.wait_for(closing_patience);
}

}  // namespace millrace
