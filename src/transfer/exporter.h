// A store as lines of JSON, a bounded piece at a time: for a file in one go, and for a server that
// does other things between the pieces.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/store.h"
#include "transfer/export.h"

namespace millrace::transfer {

// Writes queues, schedules, memos and tasks in all states, tasks in the order of their arrival.
// Holds a piece at a time and eight bytes for every 64, however many there are. Changes nothing.
// If the store is in use meanwhile, tasks put after the first piece are not part of it.
class Exporter {
 public:
  // A piece ends with the page that brings its payloads and results to this many bytes.
  explicit Exporter(std::size_t piece_bytes = 0) : piece_bytes_(piece_bytes) {}

  // Reads the next piece: a page or a few, a millisecond or so. False: there is nothing more.
  Result<bool> read(Store& store, TimePoint now);
  // Appends what was read as lines. Needs no store, and takes longer than reading.
  void write(std::string& out);

  const ExportReport& report() const { return report_; }
  // Tasks read so far, and of about how many; 0 until that is known.
  std::uint64_t seen() const { return seen_; }
  std::uint64_t total() const { return counted_ ? total_ : 0; }

 private:
  enum class Step : std::uint8_t { queues, schedules, memos, count, tasks, end, over };

  Result<void> read_queues(Store& store);
  Result<void> read_schedules(Store& store);
  Result<void> read_memos(Store& store, TimePoint now);
  Result<void> count(Store& store);
  Result<void> read_tasks(Store& store);
  std::size_t gathered() const;

  const std::size_t piece_bytes_;
  Step step_ = Step::queues;
  ExportReport report_;
  // What was read and is not written yet.
  std::string header_;
  std::vector<Queue> queues_;
  std::vector<Schedule> schedules_;
  std::vector<Memo> memos_;
  std::vector<Task> tasks_;
  bool ended_ = false;

  std::set<std::string> leaving_;                      // queues that are being removed
  Recall recall_ = {};                                 // the next page of memos
  ListRequest walk_ = {};                              // the next page to count
  std::vector<std::optional<TaskNumber>> beginnings_;  // the `before` of each page, newest first
  TaskNumber floor_ = {};                              // what is below has been read
  std::uint64_t seen_ = 0;
  std::uint64_t total_ = 0;
  bool counted_ = false;
};

}  // namespace millrace::transfer
