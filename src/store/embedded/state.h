// Everything the embedded store knows, and the one place where tasks enter and leave its indexes.
//
// Deterministic and single-threaded. The verbs of the contract are written beside it (put.cc,
// settle.cc, take.cc ...): each takes a task out of the indexes, changes its slot, and puts it
// back.
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ensure.h"
#include "core/rate_window.h"
#include "core/token_cipher.h"
#include "core/uuid.h"
#include "store/embedded/blob_cache.h"
#include "store/embedded/blobs.h"
#include "store/embedded/changes.h"
#include "store/embedded/codec.h"
#include "store/embedded/group_line.h"
#include "store/embedded/groups.h"
#include "store/embedded/holders.h"
#include "store/embedded/memos.h"
#include "store/embedded/names.h"
#include "store/embedded/ordered_set.h"
#include "store/embedded/slot.h"
#include "store/embedded/slot_index.h"
#include "store/embedded/task_copy.h"
#include "store/embedded/time_key.h"

namespace millrace::embedded {

// From a task to one that waits for it, and its place among those that one waits for.
struct Edge {
  TaskId parent;
  std::uint64_t child = 0;  // number of the waiting task, times 1024, plus the place
  friend auto operator<=>(const Edge&, const Edge&) = default;

  static constexpr unsigned place_bits = 10;
  Edge() = default;
  Edge(const TaskId& of, std::uint64_t number, std::size_t place)
      : parent(of), child(number << place_bits | place) {}
  std::size_t place() const { return child & ((1U << place_bits) - 1); }
  std::uint64_t number() const { return child >> place_bits; }
};

using ByEdge = OrderedSet<Edge>;
using ByNumber = OrderedSet<std::uint64_t>;

struct QueueEntry {
  Queue queue;
  std::uint16_t index = 0;

  std::array<ByTime, priority_count> order;    // queued, delayed and retrying, by ready moment
  std::array<ByNumber, state_count> by_state;  // every task
  ByTime finished;                             // completed and cancelled, by end
  ByTime dead;                                 // failed and dead, by end
  std::array<std::array<std::uint64_t, priority_count>, state_count> counts{};
  std::uint64_t waiting = 0;  // what max_depth limits
  std::uint64_t running = 0;  // what max_concurrent limits
  RateWindow puts;
  RateWindow takes;

  // Where the settings have rules for groups.
  std::unique_ptr<GroupLine> line;
  std::uint64_t turn = 0;         // of the queue, in the order `fair`
  std::uint32_t group_epoch = 0;  // how often rules for groups came, went or changed their order

  const QueueSettings& settings() const { return queue.settings; }
  std::uint64_t total() const;
};

// A read that takes several turns, and must learn what the changes between them move.
class TaskWatch {
 public:
  virtual ~TaskWatch() = default;

  // A task has entered the set of its queue and state. Called by the thread that changes the state,
  // in its turn.
  virtual void entered(const Slot& slot) = 0;
};

class State {
 public:
  struct Options {
    std::uint32_t epoch = 1;  // of this boot; tokens of different boots differ
    // A secret number, another one each time. It keeps outsiders from choosing colliding ids and
    // from guessing the tokens of others' leases.
    std::uint64_t hash_seed = 0;
    bool record = false;  // keep a list of changes for take_records()
    // With a log behind the state: reads a blob from it; the bytes are good until the next call.
    // Throws if they cannot be read, and the state is of no use any more.
    std::function<std::string_view(Blob blob, std::uint64_t number)> read_log = nullptr;
    // The same for reads that run beside changes; called within a turn.
    std::function<LoadFromLog()> open_log = nullptr;
    std::size_t cache_size = 0;  // bytes of blobs that stay in memory although the log has them
    // Gives out the numbers of tasks where other processes give some out, too; otherwise they are
    // counted here.
    std::function<std::uint64_t()> next_number = nullptr;
  };
  explicit State(Options options);

  // ---- Tasks -----------------------------------------------------------------------------------

  // The slot of a task, or no_slot.
  std::uint32_t find(const TaskId& id) const;
  std::uint32_t find(TaskNumber number) const;
  // This id will be looked up soon. Among millions of tasks, waiting for memory is most of find().
  [[gnu::always_inline]] void expect(const TaskId& id) const { ids_.expect(hash(id)); }

  Slot& slot(std::uint32_t index) { return slots_[index]; }
  const Slot& slot(std::uint32_t index) const { return slots_[index]; }
  std::uint32_t slot_count() const { return slots_.size(); }
  std::size_t task_count() const { return tasks_; }

  // A new task, with the next number; it is not indexed yet.
  std::uint32_t add(const NewTask& task, QueueEntry& queue, TimePoint now);

  // Put a task into every index that its state calls for, and take it out. Only the code between
  // the two may change a slot's state, queue, priority, moments or deliveries.
  void index(std::uint32_t at);
  void unindex(std::uint32_t at);

  // What was put becomes what this put gives; the id, the number and the creation stay. The caller
  // sets state and start. REQUIRES: not indexed.
  void rewrite(std::uint32_t at, const NewTask& task);

  // Gives the task to another queue, with the unique window that it holds. REQUIRES: not indexed.
  void move(std::uint32_t at, const QueueEntry& to, TimePoint now);

  // Ends a change: next version, updated at, into the list of changes, back into the indexes.
  void store(std::uint32_t at, TimePoint now);

  // Forgets a task for good. REQUIRES: not indexed.
  void erase(std::uint32_t at);

  // The edges from the tasks that one waits for, into the index and out of it (graph.cc).
  // REQUIRES: slot.has_waits. False: its bytes make no sense.
  bool link(std::uint32_t at);
  void unlink(std::uint32_t at);
  bool has_children(const TaskId& id) const {
    if (edges.empty()) return !cut.empty() && cut.contains(id);
    const auto first = edges.lower_bound(Edge(id, 0, 0));
    return (first != edges.end() && (*first).first.parent == id) || cut.contains(id);
  }
  // A task has ended: those that wait for it are to be told.
  void note_end(const TaskId& id) {
    if (has_children(id)) just_ended.push_back(id);
  }
  // After a replay: which tasks have not told all that wait for them.
  void find_untold();

  // ---- Groups (state_groups.cc) ----------------------------------------------------------------

  // The task of a slot belongs to this group of its queue from now on. REQUIRES: not indexed.
  void join_group(std::uint32_t at, std::string_view name);
  void leave_group(std::uint32_t at);
  // The group of a task as the line knows it.
  std::uint32_t group_of(std::uint32_t at) const { return marks.group(at); }
  // What a record keeps of a group has changed.
  void note_group(GroupEntry& entry);
  bool has_record(const GroupEntry& entry) const;
  void forget_group_if_unused(std::uint32_t group);
  // At the end of a call, so that no take has to do it for all that changed since the last one.
  void place_groups();
  // After a replay: what the records said belongs to the rules that the queues have now.
  void settle_groups();

  void watch(TaskWatch& watch) { watches_.push_back(&watch); }
  void unwatch(TaskWatch& watch) { std::erase(watches_, &watch); }

  // Good until the next call.
  std::string_view bytes(Blob blob, std::uint64_t number) const {
    return blob.is_in_log() ? options_.read_log(blob, number) : Blobs::view(blob);
  }
  std::string_view body(const Slot& slot) const { return bytes(slot.body, slot.number); }
  Notes notes(const Slot& slot) const { return decode_notes(bytes(slot.notes, slot.number)); }
  void set_notes(Slot& slot, const Notes& notes);
  // What was put, without the payload.
  Task given(const Slot& slot) const;
  // REQUIRES: slot.has_start_by, slot.has_unique.
  TimePoint start_by(const Slot& slot) const;
  UniqueKey unique(const Slot& slot) const;
  // How long it is kept by a rule of its own once it has ended so; nullopt: by that of its queue.
  std::optional<Duration> keep_for(const Slot& slot, TaskState final_state) const;
  // Whether it holds its unique key now. REQUIRES: slot.has_unique.
  bool holds_key(const Slot& slot, const UniqueKey& unique, TimePoint now) const;

  // Whether a final task stays at all.
  bool is_kept(const Slot& slot, TaskState final_state) const;

  Lease lease(const Slot& slot) const;
  void fill_lease(const Slot& slot, Lease& lease) const;

  // Never 0, and never the same twice.
  std::uint64_t next_token() {
    ensure(token_ + 2 < std::uint64_t{1} << 40, "the tokens of an epoch are used up");
    const std::uint64_t boot = std::uint64_t{options_.epoch} << 40;
    const std::uint64_t token = token_cipher_(boot | ++token_);
    return token != 0 ? token : token_cipher_(boot | ++token_);
  }

  // ---- Queues ----------------------------------------------------------------------------------

  // nullptr: unknown.
  QueueEntry* queue(const QueueRef& ref) const;
  QueueEntry& queue_at(std::uint16_t index) const { return *queues_[index]; }
  bool has_queue_at(std::uint16_t index) const {
    return index < queues_.size() && queues_[index] != nullptr;
  }
  // One more than the greatest index of a queue, now or before.
  std::size_t queue_places() const { return queues_.size(); }
  QueueEntry& add_queue(Queue queue);
  void put_queue_at(std::uint16_t index, Queue queue);
  // Stores new settings. Their name, number and id belong to no other queue.
  void set_queue(QueueEntry& entry, Queue queue);
  void erase_queue(QueueEntry& entry);
  // Names to indexes, in order.
  const std::map<std::string, std::uint16_t, std::less<>>& queue_names() const { return names_; }

  // Queues in which tasks wait, by index: the only ones that may have work. Most queues are idle
  // most of the time, and a search for work must not have to look at them. Begins at index `from`,
  // a multiple of 64, ends after `most` of them or a few more, and returns where to go on; 0: these
  // were all.
  template <class Visit>
  std::size_t each_with_waiting(std::size_t from, std::size_t most, const Visit& visit) const {
    std::size_t seen = 0;
    for (std::size_t word = from / 64; word < with_waiting_.size(); ++word) {
      if (seen >= most) return word * 64;
      for (std::uint64_t bits = with_waiting_[word]; bits != 0; bits &= bits - 1, ++seen) {
        visit(*queues_[(word * 64) + static_cast<std::size_t>(std::countr_zero(bits))]);
      }
    }
    return 0;
  }

  // ---- Moments at which something must be done ------------------------------------------------

  ByTime leases;      // processing, by lease end
  ByTime expiries;    // waiting with a start_by
  ByTime promotions;  // delayed, retrying and parked with an end, by ready moment
  ByTime removals;    // final with a retention of their own

  // ---- Tasks that wait for others (graph.cc) ---------------------------------------------------

  ByEdge edges;                            // to the slots of those that wait
  ByNumber orphans;                        // to be cancelled because of how another task ended
  std::vector<TaskId> just_ended;          // in this call, with children
  std::map<TaskId, std::uint64_t> untold;  // ended earlier: Edge::child of the next one to tell
  // In a book, which reads so many edges of a task at most: Edge::child of the first it has not.
  std::map<TaskId, std::uint64_t> cut;
  std::size_t tell_budget = 0;  // of this call

  // ---- The rest -------------------------------------------------------------------------------

  Groups groups;
  GroupMarks marks;
  std::vector<std::uint16_t> lines_to_place;  // of queues with groups that have changed
  bool replaying = false;                     // records say what was decided
  Blobs blobs;
  BlobCache cache;
  Names workers;
  Holders holders;
  Memos memos;
  std::map<std::string, Schedule, std::less<>> schedules;
  Changes changes;

  std::uint64_t numbers_given() const { return number_; }
  std::uint64_t tokens_given() const { return token_; }
  void resume(std::uint64_t number, std::uint64_t token, std::uint64_t memo_version);
  // After a replay: the epoch of this boot; from now on changes are recorded.
  void go_on(std::uint32_t epoch);
  const Options& options() const { return options_; }

  // Where the search for the index of the next queue begins. It is not part of the records, so a
  // copy goes on exactly like its original only if this is set; only a comparison of the two needs
  // that.
  std::uint16_t next_queue() const { return next_queue_; }
  void set_next_queue(std::uint16_t index) { next_queue_ = index; }

  // For a replay: a slot for a task that already has a number.
  std::uint32_t adopt(const Slot& slot);

  // Bytes of memory that all tasks take, without the bytes that callers gave.
  std::size_t index_memory() const;

 private:
  std::uint64_t hash(const TaskId& id) const { return UuidHash{options_.hash_seed}(id); }
  void set_body(Slot& slot, const NewTask& task, TimePoint created_at);
  void warm(Slot& slot, std::uint32_t at);
  void index_waiting(QueueEntry& queue, const Slot& slot, std::uint32_t at);
  void unindex_waiting(QueueEntry& queue, const Slot& slot, std::uint32_t at);
  void flip_waiting(const QueueEntry& queue) {
    with_waiting_[queue.index / 64U] ^= std::uint64_t{1} << (queue.index % 64U);
  }
  void forget_names(const QueueEntry& entry);
  void set_group_rules(QueueEntry& entry, const QueueSettings& before);
  void build_line(QueueEntry& entry);
  void end_line(QueueEntry& entry);
  void begin_epoch(QueueEntry& entry);
  void erase_groups(QueueEntry& entry);
  void count_in_group(const Slot& slot, std::uint32_t at, std::uint32_t change);
  bool holds_key(const Slot& slot, const UniqueKey& unique) const;
  void hold_key(const Slot& slot);
  void free_key(const Slot& slot);

  Options options_;
  std::vector<TaskWatch*> watches_;  // mostly none
  SlotPool slots_;
  SlotIndex ids_;
  std::vector<std::unique_ptr<QueueEntry>> queues_;  // by index; nullptr: free
  std::array<std::uint64_t, 1024> with_waiting_{};   // a bit for each index
  std::map<std::string, std::uint16_t, std::less<>> names_;
  std::map<QueueNumber, std::uint16_t> numbers_;
  std::map<Uuid, std::uint16_t> uuids_;
  // Indexes go round, so that records never have to tell two queues of one round apart.
  std::uint16_t next_queue_ = 0;
  std::size_t tasks_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t token_ = 0;  // counts tokens
  const TokenCipher token_cipher_;
};

}  // namespace millrace::embedded
