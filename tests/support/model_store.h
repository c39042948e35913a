// The Store contract once more, in the plainest form: whole tasks in a map, every call walks all of
// them. Slow, and easy to check against store/store.h sentence by sentence. It is the second
// opinion that the in-memory store is compared with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/group_rules.h"
#include "core/rate_window.h"
#include "store/store.h"

namespace millrace::test {

class ModelStore : public Store {
 public:
  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override;
  Result<std::vector<Put>> put_all(std::span<const NewTask> tasks, TimePoint now) override;
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override;
  Result<void> flush() override { return {}; }

  Result<std::vector<Overdue>> due(TimePoint now, const DueRequest& request) override;
  Result<Advanced> advance(TimePoint now, std::size_t limit) override;

  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override;
  Result<TaskPage> list(const ListRequest& request) override;
  Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                          TimePoint now) override;
  Result<std::vector<Result<TaskState>>> cancel(std::span<const CancelRequest> requests,
                                                TimePoint now) override;
  Result<std::vector<Result<TaskState>>> retry(std::span<const TaskId> tasks,
                                               TimePoint now) override;
  Result<std::vector<Result<TaskState>>> remove(std::span<const TaskId> tasks,
                                                TimePoint now) override;
  Result<std::vector<Result<TaskState>>> update(std::span<const TaskUpdate> updates,
                                                TimePoint now) override;
  Result<std::vector<Result<Put>>> restore(std::span<const Task> tasks, TimePoint now) override;

  Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) override;
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) override;
  Result<void> remove_queue(const QueueRef& queue, bool force, TimePoint now) override;
  Result<std::size_t> clear(const QueueRef& queue, std::size_t limit, TimePoint now) override;
  Result<Group> put_group(const PutGroup& change, TimePoint now) override;
  Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) override;

  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode, TimePoint now) override;
  Result<void> remove_schedule(std::string_view name, TimePoint now) override;
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override;
  Result<Fired> fire(const Fire& tick, TimePoint now) override;

  Result<Memo> remember(const Remember& request, TimePoint now) override;
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override;
  Result<std::optional<TimePoint>> time() override { return std::nullopt; }
  Traits traits() const override { return {.name = "model", .groups = true, .graphs = true}; }
  Result<std::vector<std::string>> ready(TimePoint now) override;

  // The store was set back to an earlier state: tokens and versions must not come twice
  // nevertheless.
  void count_on_from(const ModelStore& later) {
    last_number_ = later.last_number_;
    last_token_ = later.last_token_;
    last_memo_version_ = later.last_memo_version_;
  }

 private:
  struct Record {
    Task task;
    Token token = {};      // of the last lease; nil before the first and once it was lost
    bool settled = false;  // the holder of that token settled
    std::optional<EndedParent> orphan = std::nullopt;  // to be cancelled because of this one
    bool holds_key = false;  // the key of task.unique; the end of a window is checked separately
  };

  struct Line {
    Queue queue;
    RateWindow puts = {};
    RateWindow takes = {};
    // Of its groups, if it has rules for them.
    std::map<std::string, GroupOverride> overrides = {};
    std::map<std::string, RateWindow> group_takes = {};
    std::map<std::string, std::uint64_t> turns = {};  // of those with tasks that wait or run
    std::uint64_t turn = 0;                           // of the queue
  };

  // A unique window that outlives its task.
  struct Orphan {
    std::string queue;
    std::string key;
    TimePoint until{};
    Put put = {};
  };

  // Looking things up.
  Record* record_of(const TaskRef& ref);
  Record* record_of(const TaskId& id);
  Line* line_of(const QueueRef& ref);
  Line& line_of(const Record& record) { return queues_.at(record.task.queue); }
  std::size_t count(const std::string& queue, bool (*wanted)(TaskState)) const;
  std::optional<Put> holder(const std::string& queue, const std::string& key, TimePoint now,
                            const Record* except = nullptr) const;

  void hold_key(Record& record);

  // The version of a queue or schedule that is written; it always grows.
  static void moved_on(TimePoint& updated_at, TimePoint now) {
    updated_at = std::max(now, updated_at + Duration(1));
  }

  // Tasks that wait for others (model_store_graphs.cc).
  Result<void> check_parents(const NewTask& task);
  void wait_for(Record& record, const std::vector<TaskId>& open);
  Result<void> link(std::span<const NewTask> tasks, const std::vector<Put>& puts);
  bool has_children(const TaskId& id) const;
  void tell_children(const TaskId& id, TaskState state, TimePoint now);
  static void stop_waiting(Record& record);
  void drop(std::uint64_t number, TimePoint now);

  // Groups (model_store_groups.cc).
  std::size_t count(const std::string& queue, const std::string& group,
                    bool (*wanted)(TaskState)) const;
  static std::optional<GroupOverride> override_of(const Line& line, const std::string& group,
                                                  TimePoint now);
  static GroupLimits limits_of(const Line& line, const std::string& group, TimePoint now);
  Result<void> check_group_depth(const Line& line, const NewTask& task, TimePoint now) const;
  void regroup(const std::string& queue, const std::string& group, TimePoint now);
  static void change_rules(Line& line, const std::optional<GroupRules>& to);
  static std::int64_t effective_priority(const QueueSettings& settings, const Task& task,
                                         TimePoint now);
  Record* first(const Line& line, const std::string* group, TimePoint now);
  Record* first_in_strict_order(const Line& line, const std::string& group, TimePoint now);
  Record* stands_for(const Line& line, const std::string& group, TimePoint now);
  std::optional<TimePoint> room_at(const Line& line, const std::string& group, TimePoint now);
  Record* next_of(const Line& line, const std::string& group, TimePoint now);
  Record* best(const Line& line, TimePoint now);
  static bool fits_rate(const Line& line, const Task& task, TimePoint now);
  static void charge(Line& line, const Task& task, TimePoint now);
  static void correct(Line& line, const Task& task, std::uint32_t cost, TimePoint now);
  Group as_it_is(const Line& line, const std::string& name, TimePoint now);

  // Changing a task.
  void touch(Record& record, TimePoint now);
  static bool is_dead_letter(TaskState state);
  static const Keep& keep_of(TaskState state, const QueueSettings& settings);
  void finish(Record& record, TaskState state, TimePoint now);
  void erase(std::uint64_t number, TimePoint now);

  Result<void> check_dead_letters(const QueueSettings& settings);

  // Putting.
  Result<Put> put_one(const NewTask& task, TimePoint now);
  Put add(const NewTask& task, Line& line, TimePoint now);
  static void give(const NewTask& from, Task& task, TimePoint now);
  bool may_replace(const NewTask& task, const Put& existing);
  Put replace(const NewTask& task, const Put& existing, TimePoint now);
  Result<void> check_queue(const QueueRef& queue);
  static Result<void> check_size(const QueueSettings& settings, std::size_t bytes);
  Result<void> check_follow_ups(const std::vector<NewTask>& tasks, TimePoint now);
  std::optional<Put> in_the_way(const NewTask& task, const Line& line, TimePoint now);
  Put put_unlimited(const NewTask& task, TimePoint now);  // REQUIRES: its queue is known

  // Working.
  Result<Settled> settle(const Settlement& settlement, TimePoint now);
  std::optional<Result<Settled>> refusal(const Settlement& settlement, const Record& record,
                                         TimePoint now) const;
  void apply(const Settlement& settlement, Record& record, TimePoint now);
  Result<Extended> extend(const Extension& extension, TimePoint now);
  Result<std::vector<Lease>> take(const TakeRequest& request, TimePoint now);
  void take_from(Line& line, const Want& want, const TakeRequest& request, TimePoint now,
                 std::vector<Lease>& leases);
  static bool takeable(const Task& task, TimePoint now);
  static bool is_ready(const Task& task, TimePoint now);
  Lease lease(Record& record, const TakeRequest& request, TimePoint now);

  // Upkeep.
  void promote(TimePoint now, std::size_t limit, Advanced& result);
  void lift(TimePoint now, Advanced& result);
  void end_windows(TimePoint now);
  std::vector<std::uint64_t> outlived(TimePoint now) const;
  std::vector<std::uint64_t> one_too_many(const Line& line, bool completed, std::size_t keep) const;
  std::optional<TimePoint> leaves_at(const Task& task) const;
  std::optional<TimePoint> next_moment(TimePoint now) const;

  // Operating.
  Result<TaskState> cancel_one(const CancelRequest& request, TimePoint now);
  Result<TaskState> retry_one(const TaskId& id, TimePoint now);
  Result<TaskState> remove_one(const TaskId& id, TimePoint now);
  Result<TaskState> update_one(const TaskUpdate& update, TimePoint now);
  Result<void> move(Record& record, const QueueRef& queue, TimePoint now);
  Result<Put> restore_one(const Task& task, TimePoint now);

  std::map<std::uint64_t, Record> records_;  // by number
  std::map<std::string, Line> queues_;       // by name
  std::map<std::string, Schedule> schedules_;
  std::map<std::string, Memo> memos_;
  std::vector<Orphan> orphans_;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_token_ = 0;
  std::uint64_t last_memo_version_ = 0;
};

}  // namespace millrace::test
