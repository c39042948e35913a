// The walk of one operation on many tasks: page after page, newest task first, each page written
// down before it is acted on. Whoever takes the operation over goes on where it was.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "broker/broker.h"
#include "core/bulk.h"

namespace millrace::worker {

// What the walk cannot do itself: how requests and progress are written, and who acts.
struct BulkTools {
  std::function<Result<BulkRequest>(std::string_view)> read_request = {};
  std::function<Result<BulkProgress>(std::string_view)> read_progress = {};
  std::function<std::string(const BulkProgress&)> write_progress = {};
  std::function<std::string(const BulkProgress&)> write_result = {};
  // LocalBroker::act().
  std::function<void(Ask, BulkBatch, Completion<Broker::States>)> act = {};
};

class BulkWalk {
 public:
  // The operation is the task `id`, and tasks from `number` on came after it and are not touched.
  // All must outlive this.
  BulkWalk(Broker& broker, const BulkTools& tools, CallerId caller, const BulkRequest& request,
           TaskId id, TaskNumber number);

  // Finds out how far it came before; what was being acted on then is brought to its end. Must be
  // called first.
  Result<void> begin();

  // One page. False: it was the last, and all is written down. `conflict`: another one walks here.
  Result<bool> step();

  // Writes down how far it came: for who leaves between two pages.
  Result<void> save();

  // Why it was cancelled; empty: nobody said.
  std::string reason();

  // For who has settled the operation: nothing needs to be remembered any more that its task says.
  // What fails here is forgotten by itself, later.
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
  const BulkTools& tools_;
  const Ask ask_;
  const BulkRequest& request_;
  const std::string key_;
  const std::string why_;
  const TaskNumber number_;
  BulkProgress progress_;
  std::uint64_t version_ = 0;  // of the memo
};

}  // namespace millrace::worker
