#include "broker/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/faulty.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/support/rounds_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<NewTask> tasks(std::size_t count) {
  std::vector<NewTask> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(task("q"));
  return made;
}

// ---- Few calls ---------------------------------------------------------------------------------

TEST(Rounds, requests_of_many_callers_become_few_calls_in_the_order_put_call_work) {
  RoundsDriver d;
  const TaskId old = d.direct.put(task("q")).id;
  const Lease lease = d.direct.take_one("q");
  d.calls();

  const auto settled = d.settle(1, {done(lease)});
  const auto found = d.find(2, old);
  const auto put_first = d.put(3, tasks(2));
  const auto taken = d.take(4, {}, {{"q", 5}});
  const auto extended = d.work(5, {.extensions = {{.id = old, .token = lease.token}}});
  const auto put_second = d.put(6, tasks(1));
  d.apply();

  EXPECT_THAT(d.calls(), ElementsAre("put 3", "find 1", "work 1+1+1"));
  d.flush();
  EXPECT_THAT(put_first.get(), IsOkAndHolds(SizeIs(2)));
  EXPECT_THAT(put_second.get(), IsOkAndHolds(SizeIs(1)));
  EXPECT_EQ(found.get()->state, TaskState::processing);
  EXPECT_EQ(settled.get()->settled.front()->state, TaskState::completed);
  EXPECT_THAT(extended.get()->extended.front(), FailsWith(ErrorCode::lease_lost));
  EXPECT_THAT(leases_of(taken), SizeIs(3));
}

TEST(Rounds, a_batch_that_is_too_large_for_the_store_is_split_and_put_together_again) {
  const Traits small{.name = "small", .batch = 4};
  RoundsDriver d({}, &small);
  const auto first = tasks(3);
  const auto second = tasks(7);
  const auto one = d.put(1, first);
  const auto two = d.put(2, second);
  d.round();
  EXPECT_THAT(d.calls(), ElementsAre("put 4", "put 4", "put 2", "flush"));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ((*one.get())[i]->id, first[i].id);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ((*two.get())[i]->id, second[i].id);

  std::vector<Settlement> ends;
  for (const Lease& lease : d.direct.take("q", 10)) ends.push_back(done(lease));
  d.calls();
  const auto settled = d.settle(1, {ends.begin(), ends.begin() + 3});
  const auto more = d.settle(2, {ends.begin() + 3, ends.end()});
  const auto taken = d.take(3);
  d.round();
  EXPECT_THAT(d.calls(), ElementsAre("work 4+0+0", "work 4+0+0", "work 2+0+1", "flush"));
  EXPECT_THAT(settled.get()->settled, SizeIs(3));
  EXPECT_THAT(more.get()->settled, SizeIs(7));
  EXPECT_THAT(leases_of(taken), IsEmpty());
}

TEST(Rounds, an_item_that_fails_fails_alone) {
  RoundsDriver d;
  const auto bad = d.put(1, {task("nowhere")});
  const auto good = d.put(2);
  d.round();
  EXPECT_THAT(bad.get()->front(), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(good.get()->front(), IsOk());
}

TEST(Rounds, a_call_refused_as_a_whole_refuses_each_of_its_items) {
  RoundsDriver d;
  const auto put = d.put(1, tasks(2));
  const auto take = d.take(2, 1h);
  d.store.failure = Error{ErrorCode::corrupt, "a bad page"};
  d.apply();
  d.store.failure.reset();
  d.flush();
  EXPECT_THAT((*put.get())[0], FailsWith(ErrorCode::corrupt));
  EXPECT_THAT((*put.get())[1], FailsWith(ErrorCode::corrupt));
  EXPECT_THAT(take.get()->taken.front(), FailsWith(ErrorCode::corrupt));
}

// ---- Nothing leaves before it is stored --------------------------------------------------------

TEST(Rounds, nothing_is_answered_before_the_flush_that_covers_it) {
  RoundsDriver d;
  const auto put = d.put(1);
  const auto read = d.find(2, fresh_id());
  const auto refused = d.put(3, {task("nowhere")});
  const auto taken = d.take(4);
  d.apply();
  EXPECT_FALSE(put.answered() || read.answered() || refused.answered() || taken.answered());
  d.flush();
  EXPECT_TRUE(put.answered() && read.answered() && refused.answered() && taken.answered());
  EXPECT_THAT(read.get(), FailsWith(ErrorCode::not_found));
}

TEST(Rounds, a_round_applied_during_a_flush_waits_for_the_next_one) {
  RoundsDriver d;
  const auto first = d.put(1);
  d.apply();
  const auto applied = d.rounds->applied();
  const auto second = d.put(2);
  d.apply();
  d.rounds->flushed(applied, d.store.flush()).deliver();
  EXPECT_TRUE(first.answered());
  EXPECT_FALSE(second.answered());
  EXPECT_TRUE(d.rounds->needs_flush());
  d.flush();
  EXPECT_TRUE(second.answered());
  EXPECT_FALSE(d.rounds->needs_flush());
}

TEST(RoundsDeathTest, a_flush_of_a_round_that_was_never_applied_ends_the_process) {
  RoundsDriver d;
  const auto put = d.put(1);
  d.apply();
  EXPECT_DEATH(d.rounds->flushed(d.rounds->applied() + 1, {}).deliver(), "never applied");
}

TEST(RoundsDeathTest, a_store_that_does_not_answer_each_item_ends_the_process) {
  class Forgetful final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
      return ForwardingStore::put(tasks.first(tasks.size() - 1), now);
    }
  };
  RoundsDriver d;
  Forgetful store(d.store);
  RoundRunner runner(store, {.items = 10, .batch = 10});
  Request request{.part = PutPart{.tasks = tasks(2)}};
  Round round{.requests = {&request}};
  EXPECT_DEATH(runner.run(round), "did not answer each task of a put");
}

TEST(Rounds, one_flush_answers_every_round_applied_before_it) {
  RoundsDriver d;
  const auto first = d.put(1);
  d.apply();
  const auto second = d.put(2);
  d.apply();
  d.flush();
  EXPECT_TRUE(first.answered() && second.answered());
}

TEST(Rounds, a_round_without_anything_to_do_needs_no_flush) {
  RoundsDriver d;
  d.apply();
  EXPECT_FALSE(d.rounds->needs_flush());
  EXPECT_THAT(d.calls(), IsEmpty());
  EXPECT_TRUE(d.rounds->idle());
}

// ---- Failure -----------------------------------------------------------------------------------

TEST(Rounds, a_flush_that_lacks_space_keeps_callers_waiting_until_one_does_not) {
  RoundsDriver d;
  const auto put = d.put(1);
  d.rounds->apply(d.now).deliver();
  const auto applied = d.rounds->applied();
  d.rounds->flushed(applied, fail(ErrorCode::limited, "no space")).deliver();
  ASSERT_FALSE(put.answered());
  EXPECT_TRUE(d.rounds->needs_flush());
  d.flush();
  EXPECT_TRUE(put.get()->front().has_value());
}

TEST(Rounds, stopping_does_not_wait_for_space) {
  RoundsDriver d;
  const auto put = d.put(1);
  d.rounds->apply(d.now).deliver();
  d.rounds->stop().deliver();
  d.rounds->flushed(d.rounds->applied(), fail(ErrorCode::limited, "no space")).deliver();
  EXPECT_EQ(put.get().error().code, ErrorCode::unavailable);
  EXPECT_TRUE(d.rounds->idle());
}

TEST(Rounds, after_a_failed_flush_everything_is_unavailable_with_the_cause) {
  RoundsDriver d;
  const auto parked = d.take(1, 1h);
  d.round();
  const auto flushing = d.put(2);
  d.apply();
  const auto applied = d.rounds->applied();
  const auto next = d.put(3);
  d.apply();
  const auto waiting = d.put(4);
  d.store.failure = Error{ErrorCode::unavailable, "disk on fire"};
  d.rounds->flushed(applied, d.store.flush()).deliver();
  d.calls();
  d.apply();
  const auto later = d.put(5);
  for (const auto& put : {flushing, next, waiting, later}) {
    EXPECT_THAT(put.get(), FailsWith(ErrorCode::unavailable));
    EXPECT_THAT(put.get().error().message, HasSubstr("disk on fire"));
  }
  EXPECT_THAT(parked.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(d.calls(), IsEmpty()) << "a failed store is not called again";
  EXPECT_TRUE(d.rounds->idle());
}

TEST(Rounds, a_store_that_answers_unavailable_has_failed_for_good) {
  const std::vector<std::function<Request(Completion<int>)>> requests = {
      [](auto done) {
        return put_request({2}, tasks(1), never, [d = std::move(done)](auto result) mutable {
          d(result ? Result<int>(1) : std::unexpected(result.error()));
        });
      },
      [](auto done) {
        const auto call = [](Store& store, TimePoint) -> Result<int> {
          const auto found = find_task(store, fresh_id());
          return std::unexpected(found.error());
        };
        return call_request<int>({2}, call, never, std::move(done));
      },
      [](auto done) {
        return work_request({2}, {.takes = {{.queues = {{"q", 1}}}}, .wait_until = t0 + 1h}, never,
                            [d = std::move(done)](auto result) mutable {
                              d(result ? Result<int>(1) : std::unexpected(result.error()));
                            });
      }};
  for (const auto& request : requests) {
    RoundsDriver d;
    const auto parked = d.take(1, 1h);
    d.round();
    d.store.failure = Error{ErrorCode::unavailable, "disk on fire"};
    Heard<int> failing;
    d.submit(request(failing.completion()));
    d.apply();
    EXPECT_THAT(failing.get(), FailsWith(ErrorCode::unavailable));
    d.store.failure.reset();
    const auto later = d.put(6);
    d.round();
    EXPECT_THAT(later.get(), FailsWith(ErrorCode::unavailable));
    EXPECT_THAT(parked.get(), FailsWith(ErrorCode::unavailable));
    EXPECT_TRUE(d.rounds->idle());
  }
}

TEST(Rounds, what_was_flushed_before_the_store_failed_is_answered_with_the_truth) {
  RoundsDriver d;
  const auto good = d.put(1);
  d.apply();
  const auto applied = d.rounds->applied();
  const auto flushed = d.store.flush();
  d.store.failure = Error{ErrorCode::unavailable, "disk on fire"};
  const auto bad = d.put(2);
  d.apply();
  EXPECT_THAT(bad.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_FALSE(good.answered());
  d.rounds->flushed(applied, flushed).deliver();
  EXPECT_THAT(good.get(), IsOk());
}

// A few callers of every kind over a store that fails once; each must be answered once.
void run_over(FaultyStore& store) {
  Rounds rounds(store);
  TimePoint now = t0;
  std::vector<int> answers(7, 0);
  const auto submit = [&](Request request) {
    Answers refused;
    rounds.submit(std::move(request), now, refused);
    refused.deliver();
  };
  const auto count = [&](std::size_t number) {
    return [&answers, number](const auto&) { ++answers[number]; };
  };
  const auto round = [&] {
    now += 300ms;
    rounds.apply(now).deliver();
    if (!rounds.needs_flush()) return;
    const auto applied = rounds.applied();
    rounds.flushed(applied, store.flush()).deliver();
  };
  const auto take = [&](std::uint64_t caller, Duration wait) {
    const TakeRequest one{.worker = "w", .queues = {{"q", 1}}};
    return work_request({caller}, {.takes = {one}, .wait_until = now + wait}, never, count(caller));
  };
  submit(take(1, 1h));
  submit(take(2, 1h));
  submit(take(3, 400ms));
  round();
  round();
  const auto find = [](Store& to, TimePoint) { return find_task(to, fresh_id()); };
  submit(put_request({4}, tasks(1), never, count(4)));
  submit(call_request<Task>({5}, find, never, count(5)));
  submit(work_request({6}, {.settlements = {{.id = fresh_id()}}}, never, count(6)));
  rounds.apply(now).deliver();
  rounds.leave({1}).deliver();
  for (int i = 0; i < 4; ++i) round();
  rounds.stop().deliver();
  round();
  EXPECT_TRUE(rounds.idle());
  EXPECT_LE(answers[1], 1);
  for (std::size_t i = 2; i < answers.size(); ++i) EXPECT_EQ(answers[i], 1) << "caller " << i;
}

void fail_each_call(bool recovers, Fault::When when, ErrorCode code) {
  std::uint64_t faults = 1;
  for (std::uint64_t call = 1; faults != 0; ++call) {
    SCOPED_TRACE("call " + std::to_string(call) + (recovers ? ", recovers" : ""));
    RecordingStore memory;
    memory.pretended.recovers = recovers;
    StoreDriver(memory).make_queue("q");
    FaultyStore store(memory);
    store.plan({.call = call, .when = when, .error = {code, "injected"}});
    run_over(store);
    faults = store.faults();
    ASSERT_FALSE(testing::Test::HasFailure());
    if (faults == 0) {
      EXPECT_GT(call, 10);
    }
  }
}

TEST(Rounds, whichever_call_of_the_store_fails_every_caller_is_answered_once) {
  for (const bool recovers : {false, true}) {
    for (const auto when : {Fault::When::before, Fault::When::after}) {
      for (const auto code : {ErrorCode::unavailable, ErrorCode::internal}) {
        fail_each_call(recovers, when, code);
      }
    }
  }
}

// ---- Stopping ----------------------------------------------------------------------------------

TEST(Rounds, stopping_finishes_what_was_applied_and_refuses_the_rest) {
  RoundsDriver d;
  const auto parked = d.take(1, 1h);
  d.round();
  const auto applied = d.put(2, {task("r")});
  d.apply();
  const auto waiting = d.put(3);
  d.rounds->stop().deliver();
  EXPECT_THAT(waiting.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(d.put(4).get(), FailsWith(ErrorCode::unavailable));
  EXPECT_FALSE(d.rounds->idle());
  EXPECT_EQ(d.rounds->next_wakeup(), TimePoint::min());
  d.round();
  EXPECT_THAT(applied.get(), IsOk());
  EXPECT_THAT(parked.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(parked.get().error().message, HasSubstr("stopping"));
  EXPECT_TRUE(d.rounds->idle());
  EXPECT_EQ(d.rounds->next_wakeup(), never);
}

// ---- Completions -------------------------------------------------------------------------------

TEST(Rounds, a_completion_may_ask_again) {
  RoundsDriver d;
  HeardPut second;
  d.submit(put_request({1}, tasks(1), never, [&](auto first) {
    EXPECT_THAT(first, IsOk());
    second = d.put(1);
  }));
  d.round();
  EXPECT_FALSE(second.answered());
  d.round();
  EXPECT_TRUE(second.answered());
}

TEST(Rounds, a_completion_may_leave) {
  RoundsDriver d;
  d.submit(put_request({1}, tasks(1), never, [&](auto) { d.leave(2); }));
  const auto other = d.put(3);
  d.apply();
  const auto waiting = d.put(2);
  d.flush();
  EXPECT_TRUE(other.answered());
  d.round();
  EXPECT_FALSE(waiting.answered());
}

// ---- Stores that sync at intervals -------------------------------------------------------------

TEST(Rounds, an_idle_store_that_syncs_at_intervals_is_called_and_flushed_in_time) {
  const Traits lazy{.name = "lazy", .durability = Durability::interval, .loss_window = 100ms};
  RoundsDriver d({}, &lazy);
  d.round();
  d.calls();
  EXPECT_EQ(d.rounds->next_wakeup(), t0 + 50ms);
  d.now += 49ms;
  d.apply();
  EXPECT_FALSE(d.rounds->needs_flush());
  d.now += 1ms;
  d.apply();
  EXPECT_THAT(d.calls(), ElementsAre("ready"));
  EXPECT_TRUE(d.rounds->needs_flush());
  d.flush();
  EXPECT_EQ(d.rounds->next_wakeup(), t0 + 100ms);
}

TEST(Rounds, an_idle_store_of_another_kind_is_left_alone) {
  RoundsDriver d;
  d.put(1);
  d.round();
  EXPECT_EQ(d.rounds->next_wakeup(), never);
}

// ---- BrokerMetrics
// -----------------------------------------------------------------------------------

TEST(Rounds, the_metrics_say_what_happened_and_what_is_there) {
  RoundsDriver d({.waiting = {.requests = 3}});
  d.put(1, tasks(2));
  d.take(2, 1h, {{"r", 1}});
  d.put(3, t0 + 1ms);
  d.put(4);
  auto stats = d.rounds->stats();
  EXPECT_EQ(stats.waiting, 3);
  EXPECT_GT(stats.waiting_bytes, 0);
  EXPECT_EQ(stats.refused, 1);
  d.now += 1ms;
  d.apply();
  stats = d.rounds->stats();
  EXPECT_EQ(stats.rounds, 1);
  EXPECT_EQ(stats.requests, 2);
  EXPECT_EQ(stats.items, 3);
  EXPECT_EQ(stats.expired, 1);
  EXPECT_EQ(stats.parked, 1);
  EXPECT_EQ(stats.held, 1);
  EXPECT_EQ(stats.held_items, 2);
  d.flush();
  stats = d.rounds->stats();
  EXPECT_EQ(stats.waiting + stats.waiting_bytes + stats.held + stats.held_items, 0);
}

}  // namespace
}  // namespace millrace
