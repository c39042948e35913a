// What LocalBroker does with tasks and queues besides working on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "broker/local_broker.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"
#include "tests/support/rounds_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::HasSubstr;
using ::testing::SizeIs;

NewTask to(QueueRef queue, NewTask fields = {}) {
  fields.queue = std::move(queue);
  return fields;
}

class LocalTasksTest : public ::testing::Test {
 protected:
  // Makes this many dead letters.
  void kill(int count, const std::string& queue = "q", const std::string& type = "t") {
    for (int done = 0; done < count; done += 500) {
      must(d.try_put(std::vector<NewTask>(static_cast<std::size_t>(std::min(500, count - done)),
                                          to(queue, {.type = type}))));
      WorkOrder order;
      for (const Lease& lease : d.take(queue)) {
        order.reports.push_back({lease.id, lease.token, Failed{error("no"), false}});
      }
      must(d.try_work(std::move(order)));
    }
  }
  Result<Handled> retry_dead(DeadLetters which) {
    return d.wait<Handled>([&](auto done) {
      d.broker->handle_dead(d.ask(), std::move(which), DeadAction::retry, std::move(done));
    });
  }
  Result<Handled> remove_dead(DeadLetters which) {
    return d.wait<Handled>([&](auto done) {
      d.broker->handle_dead(d.ask(), std::move(which), DeadAction::remove, std::move(done));
    });
  }
  Heard<Task> await(TaskRef task, Duration wait, CallerId caller = {1}) {
    Heard<Task> heard;
    d.broker->await({.caller = caller}, task, wait, heard.completion());
    d.finish_reads();
    return heard;
  }

  BrokerDriver d;
};

// ---- Dead letters -------------------------------------------------------------------------------

TEST_F(LocalTasksTest, all_dead_letters_of_a_queue_are_retried_in_rounds) {
  kill(2500);
  kill(3, "other");
  const Handled handled = must(retry_dead({.queue = "q"}));
  EXPECT_EQ(handled.done, 2500U);
  EXPECT_EQ(handled.refused, 0U);
  EXPECT_EQ(d.queue("q").counts.ready(), 2500U);
  EXPECT_EQ(d.queue("other").counts.of(TaskState::failed), 3U);
}

TEST_F(LocalTasksTest, dead_letters_are_removed_by_type) {
  kill(5, "q", "a");
  kill(7, "r", "b");
  EXPECT_EQ(must(remove_dead({.type = "b"})).done, 7U);
  EXPECT_EQ(d.queue("q").counts.total(), 5U);
  EXPECT_EQ(d.queue("r").counts.total(), 0U);
}

TEST_F(LocalTasksTest, named_dead_letters_are_handled_and_others_refused) {
  kill(1);
  const TaskId dead = d.all("q").front().id;
  const Put waiting = d.put(to("q"));
  const Put cancelled = d.put(to("q"));
  must(d.try_cancel(cancelled.id));
  const Handled handled = must(remove_dead({.ids = {dead, waiting.id, cancelled.id, fresh_id()}}));
  EXPECT_EQ(handled.done, 1U);
  EXPECT_EQ(handled.refused, 3U);
  EXPECT_EQ(d.queue("q").counts.total(), 2U);
}

TEST_F(LocalTasksTest, dead_letters_of_an_unknown_queue_are_not_found) {
  EXPECT_THAT(retry_dead({.queue = "none"}), FailsWith(ErrorCode::not_found));
}

TEST_F(LocalTasksTest, clear_removes_all_that_waits) {
  for (int i = 0; i < 3; ++i) must(d.try_put(std::vector<NewTask>(1000, to("q"))));
  d.take("q", 10);
  EXPECT_THAT(
      d.wait<std::uint64_t>([&](auto done) { d.broker->clear(d.ask(), "q", std::move(done)); }),
      IsOkAndHolds(2990U));
  EXPECT_EQ(d.queue("q").counts.total(), 10U);
}

// ---- Single tasks -------------------------------------------------------------------------------

TEST_F(LocalTasksTest, tasks_are_released_moved_retried_and_removed) {
  const Put held = d.put(to("q", {.held = true}));
  const auto update = [&](TaskUpdate change) {
    return only(d.wait<Broker::States>(
        [&](auto done) { d.broker->update(d.ask(), {change}, std::move(done)); }));
  };
  EXPECT_THAT(update({.id = held.id, .release = true}), IsOkAndHolds(TaskState::queued));
  EXPECT_THAT(update({.id = held.id, .start = t0 + 5s}), IsOkAndHolds(TaskState::delayed));
  d.live(5s);
  EXPECT_EQ(d.find(held.id).state, TaskState::queued);
  must(d.try_cancel(held.id));
  EXPECT_THAT(only(d.wait<Broker::States>(
                  [&](auto done) { d.broker->retry(d.ask(), {held.id}, std::move(done)); })),
              IsOkAndHolds(TaskState::queued));
  EXPECT_THAT(only(d.wait<Broker::States>(
                  [&](auto done) { d.broker->remove(d.ask(), {held.id}, std::move(done)); })),
              IsOkAndHolds(TaskState::queued));
  EXPECT_THAT(d.try_find(held.id), FailsWith(ErrorCode::not_found));
}

TEST_F(LocalTasksTest, tasks_are_found_by_number_too) {
  const Put put = d.put(to("q"));
  EXPECT_EQ(d.find(put.number).id, put.id);
}

// ---- Waiting for a result -----------------------------------------------------------------------

TEST_F(LocalTasksTest, a_finished_task_is_answered_at_once) {
  const Put put = d.put(to("q"));
  d.settle(d.take_one("q"), Done{"r"});
  const auto heard = await(put.id, 1min);
  d.settle_down();
  EXPECT_EQ(heard.get()->result, "r");
}

TEST_F(LocalTasksTest, a_waiting_caller_is_answered_when_the_task_is_done) {
  const Put put = d.put(to("q"));
  const auto first = await(put.id, 1min);
  const auto second = await(put.number, 1min);
  const Lease lease = d.take_one("q");
  d.settle_down();
  EXPECT_FALSE(first.answered());
  d.settle(lease, Done{"r"});
  d.settle_down();
  EXPECT_EQ(first.get()->state, TaskState::completed);
  EXPECT_EQ(second.get()->result, "r");
}

TEST_F(LocalTasksTest, a_wait_that_is_over_shows_the_task_as_it_is) {
  const Put put = d.put(to("q"));
  const auto heard = await(put.id, 10s);
  d.live(9s);
  d.settle_down();
  EXPECT_FALSE(heard.answered());
  d.live(1s);
  d.settle_down();
  EXPECT_EQ(heard.get()->state, TaskState::queued);
}

TEST_F(LocalTasksTest, every_way_to_end_a_task_ends_the_wait) {
  const auto ended = [&](NewTask fields, const std::function<void(TaskId)>& end) {
    fields.queue = "q";
    const Put put = d.put(fields);
    const auto heard = await(put.id, 24h);
    d.settle_down();
    EXPECT_FALSE(heard.answered());
    end(put.id);
    d.settle_down();
    return heard.get();
  };
  EXPECT_EQ(ended({}, [&](TaskId id) { must(d.try_cancel(id)); })->state, TaskState::cancelled);
  EXPECT_EQ(ended({.start_by = d.now() + 1s}, [&](TaskId) { d.live(1s); })->error->code, "expired");
  EXPECT_EQ(ended({.max_lost = 0},
                  [&](TaskId) {
                    d.take("q");
                    d.live(2min);
                  })
                ->state,
            TaskState::dead);
  EXPECT_THAT(ended({},
                    [&](TaskId id) {
                      must(d.wait<Broker::States>(
                          [&](auto done) { d.broker->remove(d.ask(), {id}, std::move(done)); }));
                    }),
              FailsWith(ErrorCode::not_found));
  EXPECT_THAT(ended({},
                    [&](TaskId) {
                      must(d.wait<std::uint64_t>(
                          [&](auto done) { d.broker->clear(d.ask(), "q", std::move(done)); }));
                    }),
              FailsWith(ErrorCode::not_found));
  EXPECT_THAT(ended({},
                    [&](TaskId) {
                      must(d.wait<void>([&](auto done) {
                        d.broker->remove_queue(d.ask(), "q", true, std::move(done));
                      }));
                    }),
              FailsWith(ErrorCode::not_found));
}

TEST_F(LocalTasksTest, a_caller_that_leaves_is_not_answered_and_others_are) {
  const Put put = d.put(to("q"));
  const auto gone = await(put.id, 1min, {7});
  const auto stays = await(put.id, 1min, {8});
  d.settle_down();
  d.broker->leave({7});
  d.settle(d.take_one("q"), Done{});
  d.settle_down();
  EXPECT_FALSE(gone.answered());
  EXPECT_TRUE(stays.answered());
}

TEST_F(LocalTasksTest, waiting_for_nothing_is_not_found) {
  EXPECT_THAT(
      d.wait<Task>([&](auto done) { d.broker->await(d.ask(), fresh_id(), 1min, std::move(done)); }),
      FailsWith(ErrorCode::not_found));
}

TEST(LocalTasks, too_many_waiting_callers_are_limited) {
  LocalBrokerOptions options;
  options.rules.waiters = 2;
  BrokerDriver d(options);
  const Put put = d.put(to("q"));
  std::vector<Heard<Task>> heard(3);
  for (auto& each : heard) d.broker->await(d.ask(), put.id, 1min, each.completion());
  d.finish_reads();
  must(d.try_put({}));
  EXPECT_FALSE(heard[1].answered());
  EXPECT_THAT(heard[2].get(), IsLimited());
}

TEST(LocalTasks, stopping_answers_waiting_callers) {
  BrokerDriver d;
  const Put put = d.put(to("q"));
  Heard<Task> heard;
  d.broker->await(d.ask(), put.id, 1min, heard.completion());
  d.finish_reads();
  must(d.try_put({}));
  d.broker->stop();
  EXPECT_THAT(heard.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(only(d.try_put({to("q")})), FailsWith(ErrorCode::unavailable));
}

// The memory store, until it is told to fail.
class FailingStore : public ForwardingStore {
 public:
  explicit FailingStore(std::unique_ptr<Store> inner = open_memory())
      : ForwardingStore(*inner), inner_(std::move(inner)) {}
  std::atomic<bool> fails = false;

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
    if (fails) return fail(ErrorCode::unavailable, "disk on fire");
    return ForwardingStore::put(tasks, now);
  }

 private:
  std::unique_ptr<Store> inner_;
};

TEST(LocalTasks, every_caller_is_told_that_the_store_failed) {
  auto failing = std::make_unique<FailingStore>();
  FailingStore& store = *failing;
  BrokerDriver d({}, std::move(failing));
  const Put put = d.put(to("q"));
  Heard<Task> waiting;
  d.broker->await(d.ask(), put.id, 1min, waiting.completion());
  d.finish_reads();
  must(d.try_put({}));
  EXPECT_EQ(d.broker->failure(), std::nullopt);
  store.fails = true;
  EXPECT_THAT(d.try_put({to("q")}), FailsWith(ErrorCode::unavailable, HasSubstr("disk on fire")));
  EXPECT_THAT(d.broker->failure()->message, HasSubstr("disk on fire"));
  d.pass(2s);
  d.broker->run_services();
  EXPECT_THAT(waiting.get(), FailsWith(ErrorCode::unavailable));
}

// ---- Queues -------------------------------------------------------------------------------------

TEST(LocalQueues, create_refuses_what_is_there_and_replace_keeps_the_id) {
  BrokerDriver d;
  const Queue made = must(d.try_put_queue({.name = "q"}, PutQueue::create));
  EXPECT_FALSE(made.settings.id.is_nil());
  EXPECT_THAT(d.try_put_queue({.name = "q"}, PutQueue::create), FailsWith(ErrorCode::conflict));
  const Queue replaced = must(d.try_put_queue({.name = "q", .max_depth = 5}));
  EXPECT_EQ(replaced.settings.id, made.settings.id);
  EXPECT_EQ(replaced.settings.max_depth, 5U);
}

TEST(LocalQueues, a_change_reads_and_writes_in_one_step_and_keeps_the_name) {
  BrokerDriver d;
  d.put_queue({.name = "q", .max_depth = 5});
  const auto change = [&](QueueChange by) {
    return d.wait<Queue>(
        [&](auto done) { d.broker->change_queue(d.ask(), "q", std::move(by), std::move(done)); });
  };
  const auto changed = change([](QueueSettings& settings) -> Result<void> {
    settings.paused_until = never;
    return {};
  });
  EXPECT_EQ(changed->settings.max_depth, 5U);
  EXPECT_EQ(changed->settings.paused_until, never);
  EXPECT_THAT(change([](QueueSettings& settings) -> Result<void> {
                settings.name = "r";
                return {};
              }),
              FailsWith(ErrorCode::invalid));
  EXPECT_THAT(
      change([](QueueSettings&) -> Result<void> { return fail(ErrorCode::conflict, "no"); }),
      FailsWith(ErrorCode::conflict));
  EXPECT_THAT(change([](QueueSettings& settings) -> Result<void> {
                settings.lease = 0ms;
                return {};
              }),
              FailsWith(ErrorCode::invalid));
}

TEST(LocalQueues, settings_that_were_changed_hold_for_the_next_decision) {
  BrokerDriver d;
  d.put(to("q"));
  const Lease lease = d.take_one("q");
  d.put_queue({.name = "q", .retry = {.base = 77s, .jitter = Jitter::none}});
  d.settle(lease, Failed{error("no")});
  EXPECT_EQ(d.find(lease.id).start, t0 + 77s);
}

TEST(LocalQueues, internal_queues_are_shown_only_by_name) {
  BrokerDriver d;
  d.put_queue({.name = "q"});
  const auto all = must(d.wait<std::vector<QueueView>>(
      [&](auto done) { d.broker->queues(d.ask(), std::nullopt, std::move(done)); }));
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all.front().queue.settings.name, "q");
  EXPECT_EQ(d.queue("$alerts").queue.settings.name, "$alerts");
}

TEST(LocalQueues, internal_queues_keep_what_was_set) {
  BrokerDriver d;
  QueueChange change = [](QueueSettings& settings) -> Result<void> {
    settings.max_concurrent = 3;
    settings.paused_until = never;
    return {};
  };
  must(d.wait<Queue>([&](auto done) {
    d.broker->change_queue(d.ask(), "$webhooks", std::move(change), std::move(done));
  }));
  d.restart();
  EXPECT_EQ(d.queue("$webhooks").queue.settings.max_concurrent, 3U);
  EXPECT_EQ(d.queue("$webhooks").queue.settings.paused_until, never);
}

TEST(LocalQueues, memos_go_through) {
  BrokerDriver d;
  const auto memo = must(d.wait<Memo>([&](auto done) {
    d.broker->remember(d.ask(), {.key = "k", .value = "v"}, std::move(done));
  }));
  EXPECT_EQ(memo.value, "v");
  const auto memos = must(d.wait<std::vector<Memo>>(
      [&](auto done) { d.broker->recall(d.ask(), {.prefix = "k"}, std::move(done)); }));
  EXPECT_THAT(memos, SizeIs(1));
}

TEST(LocalQueues, memos_of_millrace_itself_are_written_from_inside_only) {
  BrokerDriver d;
  const auto remember = [&](std::string key, bool internal) {
    return d.wait<Memo>([&](auto done) {
      d.broker->remember({.caller = {1}, .internal = internal}, {.key = key, .value = "v"},
                         std::move(done));
    });
  };
  for (const char* key : {"$history/1m/2030-01-01T00:00:00.000Z", "$", "key/0123"}) {
    EXPECT_THAT(remember(key, false),
                FailsWith(ErrorCode::invalid, HasSubstr("reserved for Millrace itself")));
    EXPECT_THAT(remember(key, true), IsOk());
  }
  EXPECT_THAT(remember("keys", false), IsOk());
}

TEST(LocalQueues, workers_of_internal_queues_only_are_not_shown) {
  BrokerDriver d;
  const Ask inside{.caller = {2}, .internal = true};
  const auto take = [&](std::string worker, std::vector<std::string> queues) {
    TakeRequest request{.worker = std::move(worker)};
    for (const std::string& queue : queues) request.queues.emplace_back().queue = queue;
    must(d.try_work({.takes = {std::move(request)}}, inside));
  };
  take("$local-deliver", {"$webhooks", "$alerts"});
  take("$local-app", {"q"});
  take("w", {"q"});
  std::vector<std::string> names;
  for (const WorkerView& worker : must(d.wait<std::vector<WorkerView>>(
           [&](auto done) { d.broker->workers(d.ask(), std::move(done)); }))) {
    names.push_back(worker.name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("$local-app", "w"));
}

}  // namespace
}  // namespace millrace
