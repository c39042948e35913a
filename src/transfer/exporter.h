// A store as lines of JSON, in bounded pieces: for a file in one go, and for a server that works
// between the pieces.
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/values.h"
#include "store/fwd.h"
#include "transfer/export.h"

namespace millrace::transfer {

// Writes queues, schedules, memos and tasks in all states, tasks in the order of their arrival.
// Holds one piece at a time. Changes nothing. If the store is in use, tasks put after the first
// piece are not part of the export, and each task is written as it was when its piece was read.
class Exporter {
 public:
  // Reads the next piece: one page of something. False: there is nothing more.
  Result<bool> read(Reader& reader, TimePoint now);
  // Appends what was read as lines. Needs no reader, and takes longer than reading.
  void write(std::string& out);

  const ExportReport& report() const { return report_; }
  // Tasks read so far, and the approximate total.
  std::uint64_t seen() const { return seen_; }
  std::uint64_t total() const { return total_ > seen_ ? total_ : seen_; }

 private:
  enum class Step : std::uint8_t { begin, groups, schedules, memos, tasks, end, over };

  Result<void> begin(Reader& reader, TimePoint now);
  Result<void> read_groups(Reader& reader, TimePoint now);
  Result<void> read_schedules(Reader& reader);
  Result<void> read_memos(Reader& reader, TimePoint now);
  Result<void> read_tasks(Reader& reader);
  using Names = std::set<QueueRef>;  // all by which queues may be named: name, number and UUID
  static void note_names(Names& names, const Queue& queue);
  // Notes a queue for writing. False: it is being removed, so it is left out.
  bool note_queue(Queue queue);
  // Notes the queue of a task or a schedule. False: it is left out, so what needs it is, too.
  Result<bool> need_queue(Reader& reader, const QueueRef& queue);
  void leave_out(std::string what);

  Step step_ = Step::begin;
  ExportReport report_;
  // What was read and is not written yet.
  std::string header_;
  std::vector<Queue> queues_;
  std::vector<PutGroup> groups_;
  std::vector<Schedule> schedules_;
  std::vector<Memo> memos_;
  std::vector<Task> tasks_;
  bool ended_ = false;

  Names known_;    // queues that were read
  Names leaving_;  // queues that are left out: gone, being removed, or internal
  std::vector<std::string> grouped_ = {};  // queues with rules for groups that are not read yet
  GroupsRequest group_page_ = {};          // the next page of groups
  Recall recall_ = {};                     // the next page of memos
  TaskNumber next_ = {1};                  // tasks with smaller numbers have been read
  TaskNumber last_ = {};                   // the newest task when the export began
  std::uint64_t window_ = 64;              // how many numbers to read at once
  std::uint64_t seen_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace millrace::transfer
