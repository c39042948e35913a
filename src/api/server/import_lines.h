// Imports an export into a running server line by line, while further lines are still coming.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/server/call.h"
#include "api/server/http.h"
#include "api/server/line_splitter.h"
#include "core/mutex.h"
#include "transfer/import.h"
#include "transfer/line.h"

namespace millrace::api {

// Adds what is missing and changes nothing that exists, so that an import may be sent again. It
// ends with the first line that makes no sense or is refused: everything before that line is
// stored, and perhaps some of what follows it. Answered at the end with one object:
// {"imported":{…},"error":{…}}.
//
// Tasks go to the broker in batches, a few of them at the same time. Requests of one caller keep
// their order, so that tasks keep theirs and find their queues.
class ImportLines : public std::enable_shared_from_this<ImportLines> {
 public:
  using Done = BodyStream::Done;

  explicit ImportLines(CallPtr call);

  void feed(std::string piece, bool last, Done done);

 private:
  // On the listener's thread.
  void read_line(std::string_view text);
  void add(transfer::Unknown&) {}
  void add(const transfer::Header& header);
  void add(const transfer::End& end);
  void add(Queue& queue);
  void add(PutGroup& group);
  void add(Schedule& schedule);
  void add(Memo& memo);
  void add_key(Memo& memo);
  void remember(Memo memo, Completion<Memo> done);
  void keep_back(Memo memo);
  void add(Task& task);
  void task_read();  // the last one of tasks_
  void check_end();
  void send_batch();

  // On any thread.
  template <class T>
  Completion<T> counted(std::uint64_t transfer::Counts::* kind, std::uint64_t line);
  void restored(const std::vector<TaskId>& ids, const std::vector<std::uint64_t>& lines,
                const Result<std::vector<Result<Put>>>& puts);
  // `code` is told instead of that of the error, if it is not empty.
  void failed(std::uint64_t line, Error error, std::string code = {});
  void began();
  void ended();
  bool is_over() const { return over_.load(std::memory_order_relaxed); }
  void finish();
  bool may_add_keys() const;
  bool release_kept_back();
  void answer_the_last();
  std::string answer();

  CallPtr call_;
  LineSplitter lines_;
  bool newer_ = false;
  bool begun_ = false;  // the first line of an export was read
  bool ended_ = false;  // its last line was read
  transfer::Counts read_;
  bool memos_ = false;
  std::atomic<bool> can_manage_ = false;  // a key was stored that can manage keys
  // Keys that cannot manage keys, with their lines, as long as none is stored that can: with them
  // alone every caller would need a key, and none could make one.
  std::vector<std::pair<std::uint64_t, Memo>> kept_back_;
  std::vector<Task> tasks_;
  std::vector<std::uint64_t> places_;  // the lines they are from
  std::size_t bytes_ = 0;

  std::atomic<bool> over_ = false;  // there was an error
  Mutex mutex_;
  transfer::ImportReport report_ GUARDED_BY(mutex_);
  std::uint64_t wrong_line_ GUARDED_BY(mutex_) = 0;
  std::string wrong_code_ GUARDED_BY(mutex_);     // empty: that of the error
  std::size_t under_way_ GUARDED_BY(mutex_) = 0;  // requests to the broker
  bool last_ GUARDED_BY(mutex_) = false;          // the body has ended, or is read no further
  // Held while too many are under way, or until the last has been answered.
  Done done_ GUARDED_BY(mutex_);
};

}  // namespace millrace::api
