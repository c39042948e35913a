#include "broker/recorder.h"

#include <utility>
#include <variant>

namespace millrace {
namespace {

struct Meaning {
  EventKind happened;
  Counted counted;
};

Meaning meaning_of(Event event) {
  switch (event) {
    case Event::done:
      return {EventKind::completed, Counted::completed};
    case Event::fail:
      return {EventKind::failed, Counted::failed};
    case Event::exhaust:
      return {EventKind::dead, Counted::dead};
    case Event::retry:
      return {EventKind::retrying, Counted::retried};
    case Event::snooze:
      return {EventKind::snoozed, Counted::snoozed};
    case Event::park:
      return {EventKind::parked, Counted::snoozed};
    case Event::give_back:
      return {EventKind::given_back, Counted::given_back};
    case Event::cancel:
      return {EventKind::cancelled, Counted::cancelled};
    case Event::expire:
      return {EventKind::expired, Counted::expired};
    default:
      return {EventKind::lost, Counted::lost};
  }
}

}  // namespace

TaskState state_of_new(const NewTask& task, TimePoint now) {
  if (task.held) return TaskState::created;
  if (task.delay) return *task.delay > Duration::zero() ? TaskState::delayed : TaskState::queued;
  return task.start && *task.start > now ? TaskState::delayed : TaskState::queued;
}

void Recorder::count(const BrokerMetrics::Row& row, Counted what) {
  const auto place = static_cast<std::size_t>(what);
  ++row.type->counts[place];
  if (row.minute != nullptr) ++row.minute->counts[place];
}

void Recorder::put(const About& task, TaskState state) {
  const BrokerMetrics::Row& row = metrics_.row(task.queue, task.type);
  row.queue->put(1, now_);
  count(row, Counted::put);
  happened(task, EventKind::put, state);
}

void Recorder::existing(std::string_view queue, std::string_view type) {
  count(metrics_.row(queue, type), Counted::existing);
}

void Recorder::taken(const About& task, std::string_view worker, Duration waited) {
  const BrokerMetrics::Row& row = metrics_.row(task.queue, task.type);
  row.queue->asked(now_);
  row.queue->taken(waited, now_);
  count(row, Counted::taken);
  row.type->waiting.observe(waited);
  if (row.minute != nullptr) ++row.minute->waited[fine_bucket(waited)];
  events_.add({.at = now_,
               .what = EventKind::taken,
               .state = TaskState::processing,
               .id = task.id,
               .queue = task.queue,
               .type = task.type,
               .client_id = task.client_id,
               .worker = worker});
}

void Recorder::ended(const About& task, Event event, TaskState state, std::optional<Duration> run,
                     std::string_view error_code) {
  const Meaning meaning = meaning_of(event);
  const BrokerMetrics::Row& row = metrics_.row(task.queue, task.type);
  row.queue->ended(event, run, now_);
  count(row, meaning.counted);
  // A task that is given back has not really run.
  if (run && event != Event::give_back) {
    row.type->running.observe(*run);
    if (row.minute != nullptr) ++row.minute->ran[fine_bucket(*run)];
  }
  const bool failed = event == Event::fail || event == Event::exhaust;
  if ((failed || event == Event::done) && !is_internal(task.queue)) {
    metrics_.ended(task.type, task.priority, !failed, run);
  }
  const bool has_code = failed || event == Event::retry;
  events_.add({.at = now_,
               .what = meaning.happened,
               .state = state,
               .id = task.id,
               .queue = task.queue,
               .type = task.type,
               .client_id = task.client_id,
               .error_code = has_code ? error_code : std::string_view()});
}

void Recorder::happened(const About& task, EventKind what, TaskState state,
                        std::optional<double> progress) {
  events_.add({.at = now_,
               .what = what,
               .state = state,
               .id = task.id,
               .queue = task.queue,
               .type = task.type,
               .client_id = task.client_id,
               .progress = progress});
}

RecordedPuts::RecordedPuts(const std::vector<NewTask>& tasks, const QueueBook& queues,
                           TimePoint now) {
  for (const NewTask& task : tasks) {
    const auto* name = std::get_if<std::string>(&task.queue);
    std::string queue;
    if (name != nullptr) {
      queue = *name;
    } else if (const auto known = queues.find(task.queue)) {
      queue = known->settings.name;
    }
    tasks_.push_back({{task.id, std::move(queue), task.type, task.client_id, task.priority},
                      state_of_new(task, now)});
  }
}

void RecordedPuts::record(Recorder& recorder) const {
  for (const One& one : tasks_) recorder.put(about(one.task), one.state);
}

void PendingRecords::put(RecordedPuts tasks, TimePoint now) {
  at_ = now;
  put_.push_back(std::move(tasks));
}

void PendingRecords::ended(const Lease& lease, const Settlement& settlement, TaskState state,
                           bool lost, TimePoint now) {
  at_ = now;
  ended_.push_back({.task = recorded_task(lease),
                    .event = settlement.event,
                    .state = state,
                    .lost = lost,
                    .error_code = settlement.error ? settlement.error->code : std::string()});
}

void PendingRecords::record(Books& books) {
  if (ended_.empty() && put_.empty()) return;
  Recorder recorder(books, at_);
  for (const Ended& ended : ended_) {
    const About task = about(ended.task);
    if (ended.lost) recorder.ended(task, Event::lose, ended.state, std::nullopt);
    if (!ended.lost || ended.event != Event::lose) {
      recorder.ended(task, ended.event, ended.state, std::nullopt, ended.error_code);
    }
  }
  for (const RecordedPuts& tasks : put_) tasks.record(recorder);
  drop();
}

}  // namespace millrace
