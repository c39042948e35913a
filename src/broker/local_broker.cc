#include "broker/local_broker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "broker/local_parts.h"
#include "broker/recorder.h"
#include "broker/seen.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/uuid.h"
#include "core/validate.h"
#include "store/store.h"

namespace millrace {
namespace {

// As many as the store can serve at once, unless the options say otherwise.
ReadsOptions with_threads(ReadsOptions options, const Traits& traits) {
  if (options.threads == 0) options.threads = traits.readers;
  return options;
}

// A take may name a queue that does not exist yet.
CoalescerOptions with_book(CoalescerOptions options, const QueueBook& queues) {
  options.rounds.exists = [&queues](const std::string& name) {
    return queues.find(name) != nullptr;
  };
  return options;
}

}  // namespace

LocalBroker::LocalBroker(Clock& clock, Store& store, const LocalBrokerOptions& options)
    : clock_(clock),
      books_(options.rules, store.traits(), clock.now()),
      refresh_(books_, clock_),
      scheduler_(books_),
      manager_(books_),
      history_(books_),
      store_(prepared(store)),
      sweeper_(clock_, books_, options.time_jumps),
      coalescer_(clock_, store_, with_book(options.coalescer, books_.queues)),
      reads_(clock_, store_, coalescer_, with_threads(options.reads, books_.traits)),
      dead_groups_(*this, options.keep_time),
      runner_(clock_, coalescer_, books_.log(), books_.traits.recovers),
      self_(coalescer_.new_caller()),
      time_jumps_(options.time_jumps) {
  const auto wake_waiters = [this] { runner_.wake_at(books_.waiters, TimePoint::min()); };
  sweeper_.on_awaited = wake_waiters;
  sweeper_.on_set_back = [this](const std::string& what, TimePoint now) {
    if (!alerter_) return;
    alerter_->clock_set_back(what, now);
    runner_.wake_at(*alerter_, TimePoint::min());
  };
  books_.waiters.answer = [this](std::vector<Waiters::Over> over) {
    answer_waiters(std::move(over));
  };
  if (options.upkeep) {
    runner_.add("upkeep", sweeper_);
    runner_.add("schedules", scheduler_);
  }
  runner_.add("waiting for results", books_.waiters);
  if (options.alerter)
    runner_.add("looking for alerts", alerter_.emplace(books_, *options.alerter));
  if (books_.options.manager) runner_.add("manager", manager_);
  if (books_.options.history) runner_.add("history", history_);
  if (books_.traits.several_processes || books_.traits.recovers) {
    runner_.add("reading changes of other servers", refresh_);
  }
  if (books_.traits.recovers) {
    coalescer_.on_store([this](const std::optional<Error>& away) { store_changed(away); });
  }
  if (options.upkeep) sweeper_.look_at_newest(store_, clock_.now());
  if (options.keep_time) runner_.start();
  store_.on_hint([this](const Hint& hint) { hinted(hint); });
  books_.log()(LogLevel::info, fmt::format("broker started over the {} store", books_.traits.name),
               {{"store", books_.traits.name}});
}

void LocalBroker::run_services() {
  // What was done since may be due earlier than was known.
  if (time_jumps_) runner_.wake_at(sweeper_, TimePoint::min());
  runner_.run_due();
}

void LocalBroker::stop() {
  if (stopped_.exchange(true)) return;
  store_.on_hint(nullptr);
  if (books_.options.history) keep_last_minute();
  dead_groups_.stop();
  runner_.begin_stop();
  reads_.begin_stop();
  coalescer_.stop();
  reads_.stop();
  runner_.stop();
  books_.waiters.failed({ErrorCode::unavailable, "the broker is stopping"});
  books_.log()(LogLevel::info, "broker stopped");
}

// Before the threads start: no other code calls the store yet.
Store& LocalBroker::prepared(Store& store) {
  Result<void> good = {};
  if (auto looked = refresh_.run_once(store, clock_.now()); !looked) {
    good = std::unexpected(std::move(looked.error()));
  }
  if (good) good = store.flush();
  if (!good) {
    books_.log()(LogLevel::error,
                 fmt::format("the broker cannot use its store: {}", good.error().message));
  }
  return store;
}

// Another process did something. On a thread of the store.
void LocalBroker::hinted(const Hint& hint) {
  coalescer_.hint(hint);
  look_again(hint);
}

void LocalBroker::look_again(const Hint& hint) {
  if (hint.queues || hint.everything) runner_.wake_at(refresh_, TimePoint::min());
  if (hint.schedules || hint.everything) {
    scheduler_.changed();
    runner_.wake_at(scheduler_, TimePoint::min());
  }
  if (hint.everything && books_.waiters.look_at_all()) {
    runner_.wake_at(books_.waiters, TimePoint::min());
  }
}

// A store that recovers went away, or is back. Under the Coalescer's lock.
void LocalBroker::store_changed(const std::optional<Error>& away) {
  if (away) {
    away_since_ = clock_.steady();
    books_.log()(LogLevel::error, away->message);
    return;
  }
  const auto gone = std::chrono::duration<double>(clock_.steady() - away_since_).count();
  books_.log()(LogLevel::info, fmt::format("the store is back after {:.1f} s", gone));
  // What was believed to be done may have been lost with the store, and other processes may have
  // gone on.
  runner_.wake_failing();
  look_again({.everything = true});
}

void LocalBroker::leave(CallerId caller) {
  coalescer_.leave(caller);
  reads_.leave(caller);
  dead_groups_.leave(caller);
  books_.waiters.leave(caller);
}

void LocalBroker::give_back(const WorkResult& result) {
  const auto given = std::make_shared<std::vector<RecordedTask>>();
  {
    const TimePoint now = clock_.now();
    LeaseBook::Writing leases(books_.leases);
    for (const auto& taken : result.taken) {
      if (!taken) continue;
      for (const Lease& lease : *taken) {
        leases.ended(lease.token, false, now);
        given->push_back(recorded_task(lease));
      }
    }
  }
  if (given->empty()) return;
  coalescer_.give_back(result);
  // This call comes after the give-back, so the give-back is stored when it is answered. If it is
  // refused, nothing is reported.
  coalescer_.call<void>(
      self_, [](Store&, TimePoint) { return Result<void>(); }, never,
      [this, given](const Result<void>& stored) {
        if (!stored) return;
        Recorder recorder(books_, clock_.now());
        for (const RecordedTask& task : *given) {
          recorder.ended(about(task), Event::give_back, TaskState::queued, std::nullopt);
        }
      });
}

// ---- Checks -------------------------------------------------------------------------------------

Result<void> LocalBroker::check_queue(const Ask& ask, const QueueBook::Reading& book,
                                      const QueueRef& queue, std::vector<QueueRef>& unknown) const {
  if (const auto* name = std::get_if<std::string>(&queue)) {
    if (auto good = validate_name({"queue name", "queue"}, *name, ask.internal); !good) return good;
  }
  const Queue* known = book.find(queue);
  if (known == nullptr) {
    if (const auto* name = std::get_if<std::string>(&queue)) {
      if (auto good = check_new_queue_name({"queue name", "queue"}, *name); !good) return good;
    }
    if (std::ranges::find(unknown, queue) == unknown.end()) unknown.push_back(queue);
    return {};
  }
  return Books::check_internal(ask.internal, *known);
}

Result<void> LocalBroker::check_task(const Ask& ask, const QueueBook::Reading& book,
                                     const NewTask& task, TimePoint now,
                                     std::vector<QueueRef>& unknown) const {
  if (!ask.internal && is_internal(task.type)) {
    return validate_name({"task type", "type"}, task.type, false);
  }
  if (task.callback && !books_.deliveries.can_call_back()) {
    return fail(ErrorCode::invalid, "callback is given, but nothing here delivers callbacks",
                "callback");
  }
  if (task.after && !books_.traits.graphs) return no_graphs("after");
  const std::size_t known = unknown.size();
  if (auto good = check_queue(ask, book, task.queue, unknown); !good) return good;
  if (unknown.size() == known && book.find(task.queue) != nullptr) return {};
  // No queue is created for a task that the store will refuse.
  auto good = validate(task, now);
  if (!good) unknown.resize(known);
  return good;
}

std::shared_ptr<LocalBroker::Problems> LocalBroker::need_queues(const Ask& ask,
                                                                std::vector<QueueRef> unknown,
                                                                std::vector<QueueRef> looked_for) {
  if (unknown.empty() && looked_for.empty()) return nullptr;
  auto problems = std::make_shared<Problems>();
  problems->asked = std::move(unknown);
  problems->looked_for = std::move(looked_for);
  coalescer_.call<void>(
      ask.caller,
      [this, problems, ask](Store& store, TimePoint now) -> Result<void> {
        for (const QueueRef& queue : problems->asked) {
          auto good = books_.need_queue(store, queue, ask, now);
          if (!problems->note(queue, good)) return good;
        }
        for (const QueueRef& queue : problems->looked_for) {
          auto good = books_.find_queue(store, queue, ask.internal);
          if (!problems->note(queue, good)) return good;
        }
        return {};
      },
      ask.deadline,
      [problems](const Result<void>& good) {
        if (good) return;
        for (const auto* queues : {&problems->asked, &problems->looked_for}) {
          for (const QueueRef& queue : *queues) problems->of.emplace_back(queue, good.error());
        }
      });
  return problems;
}

// ---- Tasks of internal queues -------------------------------------------------------------------

std::optional<Error> LocalBroker::refusal(const Ask& ask, BulkAction action, const TaskId& id,
                                          std::string_view queue) {
  if (!ask.sees(queue)) return no_such_task(id);
  if (ask.internal || may_touch(action, queue)) return std::nullopt;
  return Error{.code = ErrorCode::invalid,
               .message = fmt::format(
                   "task {} is in the internal queue {}, where clients may only retry and "
                   "remove tasks of $webhooks and $alerts; POST /v1/bulk/{{id}}/cancel "
                   "ends an operation on many tasks",
                   to_text(id.value), queue),
               .field = "id"};
}

std::vector<std::optional<Error>> LocalBroker::refusals(const Ask& ask, BulkAction action,
                                                        const std::vector<Result<Task>>& tasks) {
  std::vector<std::optional<Error>> refused;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i]) continue;  // the store will say so
    auto error = refusal(ask, action, tasks[i]->id, tasks[i]->queue);
    if (!error) continue;
    refused.resize(tasks.size());
    refused[i] = std::move(error);
  }
  return refused;
}

}  // namespace millrace
