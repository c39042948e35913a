// The hot path of LocalBroker: reports, extensions, takes.
//
// On the caller's thread: check, look the leases up in the LeaseBook, decide. If all are known, the
// order becomes one request to the Coalescer. If one is not (after a restart), everything is done
// in one call on the applying thread, which reads the task first. local_worked.cc goes on from
// there.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "broker/dead_letter.h"
#include "broker/known_takes.h"
#include "broker/local_broker.h"
#include "broker/local_job.h"
#include "broker/local_parts.h"
#include "core/check.h"
#include "core/decide.h"
#include "core/limits.h"
#include "core/validate.h"
#include "store/store.h"

namespace millrace {
namespace {

// Of tasks that make dead letters: how many are read at once, and how many bytes of payloads the
// dead letters of one request may have.
constexpr std::size_t dead_read_together = 4;
constexpr std::size_t most_dead_bytes = 64 * limits::mib;

// Whether the task must be read if its lease is not remembered: for the event, and because a client
// may not extend leases of internal queues.
bool needs_task(const Ask& ask, const SentExtension& extension) {
  return extension.progress.has_value() || !ask.internal;
}

// Checked here, because the store's error would not tell the follow-ups that the broker has added
// from the worker's own.
Result<void> check_room(const Settlement& settlement, const Traits& traits) {
  const std::size_t count = settlement.follow_ups.size();
  const std::size_t most = std::min(limits::max_follow_ups, traits.follow_ups);
  if (count <= most) return {};
  return fail(
      ErrorCode::too_large,
      fmt::format("{} follow-ups, with the webhook, the alert and the dead letter; at most {}",
                  count, most),
      "follow_ups");
}

std::size_t bytes_of(const std::vector<Report>& reports) {
  std::size_t bytes = 0;
  for (const Report& report : reports) {
    bytes += sizeof(Report);
    if (const auto* done = std::get_if<Done>(&report.outcome)) bytes += done->result.size();
    for (const NewTask& task : report.follow_ups) bytes += bytes_of(task);
    if (report.checkpoint) bytes += report.checkpoint->size();
  }
  return bytes;
}

Result<void> check_size(const WorkOrder& order) {
  const std::size_t items = order.reports.size() + order.extensions.size();
  if (auto good = check::count({"reports and extensions", ""}, items, limits::max_batch); !good) {
    return good;
  }
  std::size_t most = 0;
  for (const TakeRequest& take : order.takes) most += wanted(take);
  return check::count({"wanted tasks", ""}, most, limits::max_batch);
}

}  // namespace

namespace {

// What a worker does to a task of an internal queue is no less than cancelling it.
constexpr BulkAction as_worker = BulkAction::cancel;

}  // namespace

// ---- Coming in ----------------------------------------------------------------------------------

Result<void> LocalBroker::check_take(const Ask& ask, const TakeRequest& take,
                                     std::vector<QueueRef>& looked_for, TimePoint now) {
  if (auto good = validate(take); !good) return good;
  if (!ask.internal && is_internal(take.worker)) {
    return fail(
        ErrorCode::invalid,
        fmt::format("worker {} begins with $, which is reserved for workers inside the server",
                    take.worker),
        "worker");
  }
  std::vector<std::string> names;
  {
    const QueueBook::Reading book(books_.queues);
    for (std::size_t i = 0; i < take.queues.size(); ++i) {
      const Want& want = take.queues[i];
      if (auto good = check_queue(ask, book, want.queue, looked_for); !good) {
        return in_take(take, i, std::move(good));
      }
      const Queue* known = book.find(want.queue);
      if (known != nullptr) {
        names.push_back(known->settings.name);
      } else if (const auto* name = std::get_if<std::string>(&want.queue)) {
        names.push_back(*name);
      }
    }
  }
  if (!names.empty()) {
    // Only for queues that exist: names cost memory.
    const QueueBook::Reading book(books_.queues);
    BrokerMetrics::Writing metrics(books_.metrics);
    for (const std::string& name : names) {
      if (book.find(std::string_view(name)) != nullptr) metrics.of(name).asked(now);
    }
  }
  LeaseBook::Writing(books_.leases).asked(take.worker, std::move(names), now, ask.owner);
  return {};
}

void LocalBroker::check_takes(const Ask& ask, std::vector<TakeRequest> takes, Job& job,
                              std::vector<QueueRef>& looked_for, TimePoint now) {
  // A queue of that name; a number or UUID that no queue has is an error.
  const auto may_come = [&](const QueueRef& queue) {
    return books_.options.create_unknown_queues && std::holds_alternative<std::string>(queue);
  };
  for (std::size_t i = 0; i < takes.size(); ++i) {
    if (auto good = check_take(ask, takes[i], looked_for, now); !good) {
      job.refused_takes.resize(takes.size());
      job.refused_takes[i] = std::move(good.error());
    }
  }
  drop_refused(takes, job.refused_takes);
  for (const TakeRequest& take : takes) {
    job.workers.push_back(take.worker);
    // A take fails with the first queue that is missing and will not come.
    const auto missing = std::ranges::find_if(take.queues, [&](const Want& want) {
      return !may_come(want.queue) && std::ranges::find(looked_for, want.queue) != looked_for.end();
    });
    if (!looked_for.empty()) {
      job.wanted.push_back(missing == take.queues.end() ? QueueRef() : missing->queue);
    }
  }
  // Also those that exist now: a queue may be removed while a take waits.
  job.work.may_miss = std::ranges::any_of(takes, [&](const TakeRequest& take) {
    return std::ranges::any_of(take.queues, [&](const Want& want) { return may_come(want.queue); });
  });
  job.work.takes = std::move(takes);
}

Result<void> LocalBroker::check_report(const Ask& ask, Report& report,
                                       std::vector<QueueRef>& unknown, TimePoint now) {
  if (report.follow_ups.empty()) return {};
  books_.ids.fill(report.follow_ups, now);
  for (NewTask& task : report.follow_ups) {
    if (task.parent.value.is_nil()) task.parent = report.id;
  }
  const QueueBook::Reading book(books_.queues);
  for (std::size_t i = 0; i < report.follow_ups.size(); ++i) {
    auto good = check_task(ask, book, report.follow_ups[i], now, unknown);
    if (good) continue;
    good.error().message = fmt::format("follow-up {}: {}", i + 1, good.error().message);
    return inside(fmt::format("follow_ups[{}]", i), std::move(good));
  }
  return check::count({"follow-ups", "follow_ups"}, report.follow_ups.size(),
                      limits::max_follow_ups);
}

// Whether all leases that are to be decided or reported on are known here, and the settings to
// decide by.
bool LocalBroker::look_up_notes(Job& job) {
  job.notes.resize(job.reports.size());
  if (job.reports.empty() && job.extended.empty()) return true;
  bool all = true;
  {
    const LeaseBook::Writing leases(books_.leases);
    for (std::size_t i = 0; i < job.extended.size(); ++i) {
      if (job.is_refused_extension(i)) continue;
      const SentExtension& extension = job.extended[i];
      const LeaseNote* note = leases.find(extension.id, extension.token);
      if (note != nullptr) {
        job.refuse_extension(i, refusal(job.ask, as_worker, note->id, note->queue));
      }
      all = all && (note != nullptr || !needs_task(job.ask, extension));
    }
    for (std::size_t i = 0; i < job.reports.size(); ++i) {
      if (job.is_refused(i)) continue;
      const LeaseNote* note = leases.find(job.reports[i].id, job.reports[i].token);
      all = all && note != nullptr;
      if (note == nullptr) continue;
      if (auto error = refusal(job.ask, as_worker, note->id, note->queue)) {
        job.refuse(i, std::move(*error));
      } else {
        job.notes[i] = *note;
      }
    }
  }
  // One book after the other: note_taken() holds the lock of queues when it locks the leases.
  return all && knows_queues(job);
}

bool LocalBroker::knows_queues(const Job& job) const {
  const QueueBook::Reading book(books_.queues);
  const std::string* last = nullptr;
  for (const auto& note : job.notes) {
    if (!note || (last != nullptr && *last == note->queue)) continue;
    if (!book.knows(note->queue)) return false;
    last = &note->queue;
  }
  return true;
}

void LocalBroker::work(Ask ask, WorkOrder order, Completion<WorkResult> done) {
  if (auto good = check_size(order); !good) return done(std::unexpected(std::move(good.error())));
  const TimePoint now = clock_.now();
  const auto job = std::make_shared<Job>(Job{.ask = ask, .done = std::move(done)});
  job->reports = std::move(order.reports);
  for (const Extension& extension : order.extensions) {
    job->extended.push_back({extension.id, extension.token, extension.progress});
  }
  for (std::size_t i = 0; i < order.extensions.size(); ++i) {
    auto good = validate(order.extensions[i]);
    if (!good) job->refuse_extension(i, std::move(good.error()));
  }
  job->work.extensions = std::move(order.extensions);
  if (order.wait > Duration::zero()) job->work.wait_until = later(now, order.wait);
  job->note_given_ids();
  std::vector<QueueRef> unknown;
  std::vector<QueueRef> looked_for;
  check_takes(ask, std::move(order.takes), *job, looked_for, now);
  for (std::size_t i = 0; i < job->reports.size(); ++i) {
    auto good = check_report(ask, job->reports[i], unknown, now);
    if (!good) job->refuse(i, std::move(good.error()));
  }
  for (const Report& report : job->reports) {
    for (const NewTask& task : report.follow_ups) {
      job->first_start = std::min(job->first_start, first_start_of(task, now).value_or(never));
    }
  }
  if (!unknown.empty()) job->note_new_queues(unknown);
  const bool known =
      look_up_notes(*job) && job->given_ids.empty() && !makes_dead_letters(*job, now);
  job->problems = need_queues(ask, std::move(unknown), std::move(looked_for));
  if (known) {
    job->drop_refused_extensions();
    static_cast<void>(decide_all(*job, nullptr, now));  // calls no store, so it cannot fail
    coalescer_.work(ask.caller, std::move(job->work), ask.deadline,
                    [this, job](Result<WorkResult> result) { worked(job, std::move(result)); });
    return;
  }
  call<WorkResult>(
      ask, [this, job](Store& store, TimePoint at) { return work_in_a_call(store, *job, at); },
      [this, job](Result<WorkResult> result) { worked(job, std::move(result)); },
      bytes_of(job->reports));
}

// ---- Deciding -----------------------------------------------------------------------------------

Result<void> LocalBroker::decide_all(Job& job, Store* store, TimePoint now) {
  if (job.reports.empty()) return {};
  static const QueueSettings unknown_queue;
  job.work.settlements.reserve(job.reports.size());
  job.decided.reserve(job.reports.size());
  std::string name;
  std::shared_ptr<const Queue> queue;
  for (std::size_t i = 0; i < job.reports.size(); ++i) {
    if (job.is_refused(i) || !job.notes[i]) continue;
    Report& report = job.reports[i];
    LeaseNote& note = *job.notes[i];
    if (i == 0 || note.queue != name) {
      name = note.queue;
      queue = books_.queues.find(name);
      if (!queue && store != nullptr) {
        auto found = books_.queues.look_up(*store, name);
        if (!found && found.error().code == ErrorCode::unavailable) {
          return std::unexpected(std::move(found.error()));
        }
        queue = found.value_or(nullptr);
      }
    }
    std::optional<DeadTask> dead;
    if (!job.dead.empty() && job.dead[i]) {
      dead = dead_task(job.dead[i]->task);
      dead->left_out = job.dead[i]->left_out;
    }
    Settlement settlement =
        books_.decide(note, report.outcome, report.follow_ups,
                      queue ? queue->settings : unknown_queue, dead ? &*dead : nullptr, now);
    settlement.checkpoint = std::move(report.checkpoint);
    settlement.cost = report.cost;
    if (auto good = check_room(settlement, books_.traits); !good) {
      job.refuse(i, std::move(good.error()));
      continue;
    }
    job.decided.push_back({std::move(note), settlement.event, gist_of(settlement),
                           new_ones_of(settlement, books_.queues, now), settlement.cost});
    job.work.settlements.push_back(std::move(settlement));
  }
  return {};
}

// Reads from the store what the LeaseBook does not know.
Result<void> LocalBroker::find_notes(Store& store, Job& job) {
  std::vector<TaskId> ids;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < job.reports.size(); ++i) {
    if (job.is_refused(i) || job.notes[i]) continue;
    ids.push_back(job.reports[i].id);
    places.push_back(i);
  }
  std::vector<std::size_t> extensions;
  for (std::size_t i = 0; i < job.extended.size(); ++i) {
    if (job.is_refused_extension(i)) continue;
    const SentExtension& extension = job.extended[i];
    const bool known =
        !needs_task(job.ask, extension) || books_.leases.knows(extension.id, extension.token);
    if (known) continue;
    ids.push_back(extension.id);
    extensions.push_back(i);
  }
  auto tasks = find_all(store, ids, head_only, books_.traits.batch);
  if (!tasks) return std::unexpected(std::move(tasks.error()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto& task = (*tasks)[i];
    if (!task) {
      job.refuse(places[i], std::move(task.error()));
    } else if (auto error = refusal(job.ask, as_worker, task->id, task->queue)) {
      job.refuse(places[i], std::move(*error));
    } else {
      job.notes[places[i]] = note_of(*task, job.reports[places[i]].token);
    }
  }
  for (std::size_t i = 0; i < extensions.size(); ++i) {
    const auto& task = (*tasks)[places.size() + i];
    if (!task) continue;  // the store will say so
    const SentExtension& extension = job.extended[extensions[i]];
    job.found.emplace(extension.token.value, recorded_task(*task));
    job.refuse_extension(extensions[i], refusal(job.ask, as_worker, task->id, task->queue));
  }
  job.drop_refused_extensions();
  return {};
}

bool LocalBroker::makes_dead_letters(Job& job, TimePoint now) const {
  const QueueBook::Reading book(books_.queues);
  for (std::size_t i = 0; i < job.reports.size(); ++i) {
    if (job.is_refused(i) || !job.notes[i]) continue;
    const Queue* queue = book.find(std::string_view(job.notes[i]->queue));
    if (queue != nullptr &&
        books_.will_make_dead_letter(*job.notes[i], job.reports[i].outcome, queue->settings, now)) {
      return true;
    }
  }
  return false;
}

// Reads the tasks that make a dead letter for another queue, a few at a time, as each may have a
// payload of 16 MiB. One that cannot be read makes one without its payload, as does one whose
// payload is too large for that, or comes when the others of this request fill the memory for it.
Result<void> LocalBroker::find_dead(Store& store, Job& job, TimePoint now) {
  std::vector<TaskId> ids;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < job.reports.size(); ++i) {
    if (job.is_refused(i) || !job.notes[i]) continue;
    const LeaseNote& note = *job.notes[i];
    const auto settings = books_.settings_of(store, note.queue);
    if (!settings) return std::unexpected(settings.error());
    if (!books_.will_make_dead_letter(note, job.reports[i].outcome, *settings, now)) continue;
    ids.push_back(note.id);
    places.push_back(i);
  }
  if (ids.empty()) return {};
  job.dead.resize(job.reports.size());
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < ids.size(); at += dead_read_together) {
    const auto part = std::span(ids).subspan(at, std::min(dead_read_together, ids.size() - at));
    auto tasks = find_all(store, part, {.notes = false}, books_.traits.batch);
    if (!tasks) return std::unexpected(std::move(tasks.error()));
    for (std::size_t i = 0; i < part.size(); ++i) {
      auto& found = (*tasks)[i];
      const std::size_t place = places[at + i];
      const LeaseNote& note = *job.notes[place];
      DeadFound& dead = job.dead[place].emplace();
      dead.task =
          found ? std::move(*found) : Task{.id = note.id, .queue = note.queue, .type = note.type};
      dead.left_out = !found || dead.task.payload.size() > limits::mib ||
                      bytes + dead.task.payload.size() > most_dead_bytes;
      if (dead.left_out) dead.task.payload = std::string();
      bytes += dead.task.payload.size();
    }
  }
  return {};
}

Result<WorkResult> LocalBroker::work_in_a_call(Store& store, Job& job, TimePoint now) {
  if (auto good = find_notes(store, job); !good) return std::unexpected(std::move(good.error()));
  if (auto good = find_dead(store, job, now); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (auto good = refuse_taken_ids(store, job); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (auto good = decide_all(job, &store, now); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (!job.work.may_miss) return work_in_batches(store, books_.traits.batch, job.work, now);
  const KnownTakes known(job.work.takes, [this](const std::string& name) {
    return books_.queues.find(name) != nullptr;
  });
  job.work.takes = known.takes();
  auto result = work_in_batches(store, books_.traits.batch, job.work, now);
  if (!result) return result;
  auto some = std::exchange(result->taken, {});
  std::size_t at = 0;
  known.hand_out(some, at, result->taken);
  return result;
}

}  // namespace millrace
