// What LocalBroker shows to clients that watch: figures, history. Events are added where things
// happen.
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

namespace millrace {
namespace {

WorkerFigures figures_of(const std::vector<WorkerView>& workers, TimePoint now) {
  WorkerFigures figures;
  for (const WorkerView& worker : workers) {
    ++figures.seen;
    figures.holding += worker.holding;
    // Every beat is also a sign of life, so `last_seen` is at least as late.
    if (!worker.report || now - worker.last_seen > Manager::silence) continue;
    ++figures.beating;
    figures.processors += worker.report->processors;
    for (const QueueReport& queue : worker.report->queues) figures.busy += queue.busy;
  }
  return figures;
}

std::vector<QueueView> views_of(const std::vector<std::shared_ptr<const Queue>>& queues,
                                Figures& figures, TimePoint now) {
  std::vector<QueueView> views;
  views.reserve(queues.size());
  for (const auto& queue : queues) {
    QueueView& view = views.emplace_back();
    view.queue = *queue;
    view.figures = figures.of(queue->settings.name, now);
  }
  return views;
}

// Both are sorted by name. A queue that has no counts was removed meanwhile.
void fill_in(std::vector<QueueView>& views, std::vector<QueueCounts> counts) {
  std::size_t kept = 0;
  auto at = counts.begin();
  for (QueueView& view : views) {
    const std::string& name = view.queue.settings.name;
    while (at != counts.end() && at->queue < name) ++at;
    if (at == counts.end() || at->queue != name) continue;
    view.counts = std::move(*at);
    if (&views[kept] != &view) views[kept] = std::move(view);
    ++kept;
  }
  views.resize(kept);
}

}  // namespace

// Everything but the counts is read on the caller's thread, so that no other caller waits for it.
void LocalBroker::observe(Ask ask, Completion<Observed> done) {
  const TimePoint now = clock_.now();
  auto observed = std::make_shared<Observed>();
  observed->at = now;
  observed->started = books_.figures.started();
  observed->queues = views_of(books_.queues.all(), books_.figures, now);
  observed->types = books_.figures.types();
  observed->priorities = books_.figures.priorities();
  observed->refused = books_.figures.refused();
  observed->late_reports = books_.figures.late_reports();
  observed->workers = figures_of(books_.leases.workers(false), now);
  observed->leases = books_.leases.size();
  observed->events = books_.events.last();
  observed->traits = traits();
  observed->desired_processors = desired_processors();
  read<std::vector<QueueCounts>>(
      ask, [](Reader& reader, TimePoint at) { return reader.counts(std::nullopt, at); },
      [this, observed, done = std::move(done)](Result<std::vector<QueueCounts>> counts) mutable {
        observed->rounds = stats();
        observed->failure = failure();
        if (!counts && !observed->failure) {
          return done(std::unexpected(std::move(counts.error())));
        }
        fill_in(observed->queues, counts ? std::move(*counts) : std::vector<QueueCounts>());
        done(std::move(*observed));
      });
}

Standing LocalBroker::standing() {
  Standing found = watch_ ? watch_->standing() : Standing{};
  found.alerts_sent = books_.notices.can_alert();
  found.manager = books_.options.manager;
  if (const auto failed = failure()) {
    found.alerts.insert(found.alerts.begin(), {.kind = AlertKind::store_failed,
                                               .level = LogLevel::error,
                                               .since = clock_.now(),
                                               .message = failed->message});
    ++found.total;
  }
  return found;
}

// ---- History ------------------------------------------------------------------------------------

namespace {

constexpr std::uint32_t first_page = 16;
constexpr std::uint32_t greatest_page = 250;
constexpr std::size_t bytes_a_page = 256 * limits::kib;

// In real time: stop() waits no longer than this for a disk that accepts nothing.
constexpr std::chrono::seconds patience(2);

// So that reading and decoding a page takes about a millisecond, whatever is in it.
std::uint32_t next_limit(const std::vector<Memo>& page) {
  std::size_t bytes = page.size();
  for (const Memo& memo : page) bytes += memo.value.size();
  const std::size_t fit = bytes_a_page * page.size() / std::max<std::size_t>(bytes, 1);
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
    return done(fail(ErrorCode::invalid, fmt::format("step is {}; it must be 1m or 1h",
                                                     format_duration(request.step))));
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
  const auto rows = books_.figures.sum_minutes(
      now, [&](TimePoint minute, std::string_view queue, std::string_view type) {
        return sum.wants(minute, queue, type);
      });
  for (const auto& [minute, row] : rows) sum.add(minute, row);
  if (sum.by_name()) {
    books_.figures.each_row(
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
  books_.figures.each_row(
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
  answered.wait_for(patience);
}

}  // namespace millrace
