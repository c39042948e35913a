// The walk of one operation on many tasks: page by page, newest task first. Each page is written
// down before the walk acts on it, so a worker that takes the operation over continues where it was
// left.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <cstdint>
#include <optional>
#include <string>

#include "broker/broker.h"
#include "broker/bulk_verbs.h"
#include "core/bulk.h"

namespace millrace::worker {

class BulkWalk {
 public:
  // The operation is the task `id`. Tasks from `number` on came after it and are not touched. All
  // arguments must outlive the walk.
  BulkWalk(Broker& broker, BulkVerbs& verbs, CallerId caller, const BulkRequest& request, TaskId id,
           TaskNumber number);

  // Loads the stored progress and finishes the page that was under way. Must be called first.
  Result<void> begin();

  // Walks one page. False: it was the last, and everything is written down. `conflict`: another
  // worker walks the same operation.
  Result<bool> step();

  // Writes the progress down, for a worker that leaves between two pages.
  Result<void> save();

  // Why the operation was cancelled; empty: no reason was given.
  std::string reason();

  // Removes the stored progress of an operation that is settled. If this fails, retention removes
  // it later.
  void forget(bool with_progress);

  const BulkProgress& progress() const { return progress_; }

 private:
  template <class T, class Start>
  Result<T> wait(const Start& start);

  Result<void> load();
  Result<std::uint64_t> count();
  Result<TaskPage> next_page();
  Result<void> act(bool again);
  Result<void> drop_new_ones();
  Result<void> note(const BulkSeen& seen, const Result<TaskState>& state, bool again);
  Result<bool> was_done(const BulkSeen& seen);
  Result<std::optional<Memo>> recall(const std::string& key);

  Broker& broker_;
  BulkVerbs& verbs_;
  const Ask ask_;
  const BulkRequest& request_;
  const std::string key_;
  const std::string why_;
  const TaskNumber number_;
  BulkProgress progress_;
  std::uint64_t version_ = 0;  // of the memo
};

}  // namespace millrace::worker
