// One order of LocalBroker::work(), from its coming in to its answer. Private to local_work.cc and
// local_worked.cc.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/local_broker.h"
#include "broker/local_parts.h"
#include "broker/recorder.h"
#include "store/store.h"

namespace millrace {

// A settlement that was sent to the store.
struct Decided {
  LeaseNote note = {};
  Event event = Event::done;
  // For all but `done`: the settlement without result and follow-ups, for the log, and for a second
  // decision if the store says that a cancel was requested.
  std::unique_ptr<Settlement> gist = nullptr;
  std::unique_ptr<RecordedPuts> follow_ups = nullptr;  // null: there are none
  std::optional<std::uint32_t> cost = std::nullopt;    // as the report says
};

// An extension that was sent to the store.
struct SentExtension {
  TaskId id = {};
  Token token = {};
  std::optional<double> progress = std::nullopt;
};

// What a Decided keeps of a settlement.
std::unique_ptr<Settlement> gist_of(const Settlement& settlement);
std::unique_ptr<RecordedPuts> new_ones_of(const Settlement& settlement, const QueueBook& queues,
                                          TimePoint now);

// A task that makes a dead letter for another queue.
struct DeadFound {
  Task task = {};
  bool left_out = false;  // without its payload
};

struct LocalBroker::Job {
  Ask ask;
  Completion<WorkResult> done;
  std::vector<Report> reports = {};
  std::vector<std::optional<LeaseNote>> notes = {};           // by report
  std::vector<std::optional<DeadFound>> dead = {};            // by report; empty: none makes one
  std::vector<std::optional<Error>> refused = {};             // by report; empty: none is
  std::vector<std::optional<Error>> refused_takes = {};       // by take; empty: none is
  std::vector<std::string> workers = {};                      // by take that is not refused
  std::vector<SentExtension> extended = {};                   // by extension that is not refused
  std::vector<std::optional<Error>> refused_extensions = {};  // by extension; empty: none is
  // By token: tasks whose progress is reported.
  std::map<std::uint64_t, RecordedTask> found = {};
  Work work = {};
  std::vector<Decided> decided = {};      // by settlement
  TimePoint first_start = never;          // of follow-ups
  std::vector<QueueRef> wanted = {};      // the first queue of each take, if some are unknown
  std::vector<QueueRef> new_queues = {};  // by report: the first of a follow-up; empty: none
  // Follow-ups whose id the caller has given, if it may not see everything: report and place in it.
  std::vector<std::pair<std::size_t, std::size_t>> given_ids = {};
  std::shared_ptr<Problems> problems = nullptr;

  void note_given_ids() {
    if (!ask.may_see) return;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      for (std::size_t k = 0; k < reports[i].follow_ups.size(); ++k) {
        if (!reports[i].follow_ups[k].id.value.is_nil()) given_ids.emplace_back(i, k);
      }
    }
  }
  // Which reports wait for a queue to be created.
  void note_new_queues(const std::vector<QueueRef>& unknown) {
    for (const Report& report : reports) {
      const auto first =
          std::ranges::find_first_of(report.follow_ups, unknown, {}, &NewTask::queue);
      new_queues.push_back(first == report.follow_ups.end() ? QueueRef() : first->queue);
    }
  }
  // The same, by settlement.
  std::vector<QueueRef> queues_of_follow_ups() const {
    std::vector<QueueRef> queues = new_queues;
    drop_refused(queues, refused);
    return queues;
  }

  void refuse(std::size_t report, Error error) {
    refused.resize(reports.size());
    refused[report] = std::move(error);
  }
  bool is_refused(std::size_t report) const { return !refused.empty() && refused[report]; }

  void refuse_extension(std::size_t extension, std::optional<Error> error) {
    if (!error) return;
    refused_extensions.resize(extended.size());
    refused_extensions[extension] = std::move(error);
  }
  bool is_refused_extension(std::size_t extension) const {
    return !refused_extensions.empty() && refused_extensions[extension];
  }
  void drop_refused_extensions() {
    drop_refused(work.extensions, refused_extensions);
    drop_refused(extended, refused_extensions);
  }
};

}  // namespace millrace
