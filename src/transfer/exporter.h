// A store as lines of JSON, a bounded piece at a time: for a file in one go, and for a server that
// does other things between the pieces.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "store/store.h"
#include "transfer/export.h"

namespace millrace::transfer {

// Writes queues, schedules, memos and tasks in all states, tasks in the order of their arrival.
// Holds a piece at a time, however many there are. Changes nothing. If the store is in use
// meanwhile, tasks put after the first piece are not part of it, and each is as it was when its
// piece was read.
class Exporter {
 public:
  // Reads the next piece: one page of something. False: there is nothing more.
  Result<bool> read(Store& store, TimePoint now);
  // Appends what was read as lines. Needs no store, and takes longer than reading.
  void write(std::string& out);

  const ExportReport& report() const { return report_; }
  // Tasks read so far, and of about how many.
  std::uint64_t seen() const { return seen_; }
  std::uint64_t total() const { return total_ > seen_ ? total_ : seen_; }

 private:
  enum class Step : std::uint8_t { begin, schedules, memos, tasks, end, over };

  Result<void> begin(Store& store, TimePoint now);
  Result<void> read_schedules(Store& store);
  Result<void> read_memos(Store& store, TimePoint now);
  Result<void> read_tasks(Store& store);
  // The queue of a task: noted for writing where it was not yet. False: it leaves, and so does it.
  Result<bool> need_queue(Store& store, const std::string& queue);
  void leave_out(std::string what);

  Step step_ = Step::begin;
  ExportReport report_;
  // What was read and is not written yet.
  std::string header_;
  std::vector<Queue> queues_;
  std::vector<Schedule> schedules_;
  std::vector<Memo> memos_;
  std::vector<Task> tasks_;
  bool ended_ = false;

  std::set<std::string, std::less<>> known_;    // queues that were read
  std::set<std::string, std::less<>> leaving_;  // that are being removed, or are nobody's business
  Recall recall_ = {};                          // the next page of memos
  TaskNumber next_ = {1};                       // what is below has been read
  TaskNumber last_ = {};                        // the newest task when it began
  std::uint64_t window_ = 64;                   // how many numbers to ask for at once
  std::uint64_t seen_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace millrace::transfer
