// Takes that wait for work, and leases whose caller is gone.
#include "broker/parked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "store/store.h"
#include "tests/support/rounds_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// ---- Waiting for work --------------------------------------------------------------------------

TEST(Parked, a_take_that_finds_nothing_waits_and_shares_the_round_of_the_put_that_feeds_it) {
  RoundsDriver d;
  const auto take = d.take(1, 1h);
  d.round();
  EXPECT_FALSE(take.answered());
  EXPECT_EQ(d.rounds->stats().parked, 1);

  const auto put = d.put(2);
  d.apply();
  EXPECT_FALSE(take.answered());
  d.flush();
  EXPECT_THAT(leases_of(take), SizeIs(1));
  EXPECT_TRUE(d.rounds->idle());
}

TEST(Parked, a_put_whose_start_by_has_passed_is_given_to_no_take_that_waits) {
  RoundsDriver d;
  const auto take = d.take(1, 1h);
  d.round();
  d.put(2, {task("q", {.start_by = t0 - 1ms})});
  d.round();
  EXPECT_FALSE(take.answered());
  d.put(3, {task("q", {.start_by = t0 + 1s})});
  d.round();
  EXPECT_THAT(leases_of(take), SizeIs(1));
}

TEST(Parked, a_take_that_may_not_wait_is_answered_empty) {
  RoundsDriver d;
  const auto take = d.take(1);
  d.round();
  EXPECT_THAT(leases_of(take), IsEmpty());
}

TEST(Parked, a_take_is_answered_empty_at_the_end_of_its_wait_and_after_a_flush) {
  RoundsDriver d;
  const auto take = d.take(1, 100ms);
  d.round();
  EXPECT_EQ(d.rounds->next_wakeup(), t0 + 100ms);
  d.now += 100ms;
  d.apply();
  EXPECT_FALSE(take.answered());
  EXPECT_TRUE(d.rounds->needs_flush());
  d.flush();
  EXPECT_THAT(leases_of(take), IsEmpty());
}

TEST(Parked, a_give_back_feeds_a_parked_take) {
  RoundsDriver d;
  d.direct.put(task("q"));
  const Lease lease = d.direct.take_one("q");
  const auto take = d.take(1, 1h);
  d.round();
  const auto settled = d.settle(2, {given_back(lease)});
  d.round();
  EXPECT_THAT(ids_of(leases_of(take)), ElementsAre(lease.id));
}

TEST(Parked, a_freed_place_of_a_limited_queue_feeds_a_parked_take) {
  RoundsDriver d;
  d.direct.make_queue(queue("narrow", {.max_concurrent = 1}));
  d.direct.put_all({task("narrow"), task("narrow")});
  const Lease lease = d.direct.take_one("narrow");
  const auto take = d.take(1, 1h, {{"narrow", 1}});
  d.round();
  EXPECT_FALSE(take.answered());
  d.settle(2, {done(lease)});
  d.round();
  EXPECT_THAT(leases_of(take), SizeIs(1));
}

TEST(Parked, a_call_that_makes_tasks_ready_feeds_a_parked_take) {
  RoundsDriver d;
  const TaskId held = d.direct.put(task("q", {.held = true})).id;
  const auto take = d.take(1, 1h);
  d.round();
  Heard<std::vector<Result<TaskState>>> heard;
  const auto release = [held](Store& store, TimePoint now) {
    const TaskUpdate update{.id = held, .release = true};
    return store.update({&update, 1}, now);
  };
  d.submit(call_request<std::vector<Result<TaskState>>>({2}, release, never, heard.completion()));
  d.round();
  EXPECT_THAT(ids_of(leases_of(take)), ElementsAre(held));
}

TEST(Parked, what_only_time_brings_is_found_by_the_poll) {
  RoundsDriver d({.poll = 250ms});
  d.direct.make_queue(queue("slow", {.process_rate = Rate{1, 1s}}));
  d.direct.put_all({task("slow"), task("slow")});
  d.direct.take_one("slow");
  const auto take = d.take(1, 1h, {{"slow", 1}});
  d.round();
  for (int polls = 0; polls < 5 && !take.answered(); ++polls) {
    EXPECT_LE(d.rounds->next_wakeup(), d.now + 250ms);
    d.now = d.rounds->next_wakeup();
    d.round();
  }
  EXPECT_THAT(leases_of(take), SizeIs(1));
}

TEST(Parked, a_clock_set_back_does_not_stop_the_poll) {
  RoundsDriver d({.poll = 250ms});
  const auto take = d.take(1, 1h);
  d.round();
  d.now -= 24h;
  d.apply();
  EXPECT_LE(d.rounds->next_wakeup(), d.now + 250ms);
}

TEST(Parked, first_come_first_served) {
  RoundsDriver d;
  std::vector<HeardWork> takes;
  for (std::uint64_t caller = 1; caller <= 30; ++caller) takes.push_back(d.take(caller, 1h));
  d.round();
  for (std::size_t served = 0; served < 30;) {
    const std::size_t count = std::min<std::size_t>(1 + served, 30 - served);
    std::vector<NewTask> tasks;
    for (std::size_t i = 0; i < count; ++i) tasks.push_back(task("q"));
    d.put(99, tasks);
    d.round();
    served += count;
    for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(takes[i].answered(), i < served) << i;
  }
}

TEST(Parked, a_parked_take_is_served_before_one_that_has_just_come) {
  RoundsDriver d;
  const auto first = d.take(1, 1h);
  d.round();
  const auto second = d.take(2, 1h);
  d.put(3);
  d.round();
  EXPECT_TRUE(first.answered());
  EXPECT_FALSE(second.answered());
  d.put(3);
  d.round();
  EXPECT_TRUE(second.answered());
}

TEST(Parked, a_take_of_several_queues_is_served_by_any_of_them) {
  for (const char* fed : {"q", "r"}) {
    RoundsDriver d;
    const auto take = d.take(1, 1h, {{"q", 1}, {"r", 1}});
    d.round();
    d.put(2, {task(fed)});
    d.round();
    EXPECT_EQ(leases_of(take).front().queue, fed);
    d.put(2, {task("q"), task("r")});
    d.round();
    EXPECT_TRUE(d.rounds->idle()) << "it is gone from the other queue, too";
  }
}

TEST(Parked, a_queue_may_be_named_by_number_or_uuid) {
  RoundsDriver d;
  const Queue numbered = d.direct.make_queue(queue("numbered", {.number = QueueNumber{7}}));
  const auto by_number = d.take(1, 1h, {{QueueNumber{7}, 1}});
  const auto by_uuid = d.take(2, 1h, {{numbered.settings.id, 1}});
  d.round();
  d.put(3, {task("numbered"), task("numbered")});
  d.round();
  EXPECT_THAT(leases_of(by_number), SizeIs(1));
  EXPECT_THAT(leases_of(by_uuid), SizeIs(1));
}

TEST(Parked, a_call_that_carries_settlements_or_extensions_does_not_wait) {
  RoundsDriver d;
  d.direct.put(task("q"));
  const Lease lease = d.direct.take_one("q");
  const TakeRequest take{.worker = "w", .queues = {{"q", 1}}};
  const auto extends = d.work(1, {.extensions = {{.id = lease.id, .token = lease.token}},
                                  .takes = {take},
                                  .wait_until = t0 + 1h});
  const auto settles =
      d.work(2, {.settlements = {done(lease)}, .takes = {take}, .wait_until = t0 + 1h});
  d.round();
  EXPECT_THAT(leases_of(extends), IsEmpty());
  EXPECT_THAT(leases_of(settles), IsEmpty());
}

TEST(Parked, a_take_that_fails_does_not_wait) {
  RoundsDriver d;
  const auto take = d.take(1, 1h, {{"nowhere", 1}});
  d.round();
  EXPECT_THAT(take.get()->taken.front(), FailsWith(ErrorCode::not_found));
}

TEST(Parked, several_takes_in_one_request_wait_together) {
  RoundsDriver d;
  const auto both = d.work(
      1, {.takes = {{.worker = "a", .queues = {{"q", 1}}}, {.worker = "b", .queues = {{"r", 1}}}},
          .wait_until = t0 + 1h});
  d.round();
  d.put(2, {task("r")});
  d.round();
  EXPECT_THAT(both.get()->taken[0], IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(both.get()->taken[1], IsOkAndHolds(SizeIs(1)));
}

TEST(Parked, too_many_parked_takes_are_limited) {
  RoundsDriver d({.parked = 2});
  d.take(1, 1h);
  d.take(2, 1h);
  const auto third = d.take(3, 1h);
  d.apply();
  EXPECT_FALSE(third.answered());
  d.flush();
  EXPECT_THAT(third.get(), FailsWith(ErrorCode::limited));
  EXPECT_TRUE(third.get().error().retry_after.has_value());
  EXPECT_EQ(d.rounds->stats().parked, 2);
}

// ---- Not looking at all of them ----------------------------------------------------------------

TEST(Parked, a_round_looks_only_at_takes_of_queues_that_may_have_work) {
  RoundsDriver d;
  for (std::uint64_t caller = 1; caller <= 500; ++caller) d.take(caller, 1h);
  d.round();
  d.calls();
  const auto take = d.take(1000, 1h, {{"r", 1}});
  d.round();
  d.put(1001, {task("r")});
  d.calls();
  d.round();
  EXPECT_THAT(d.calls(), ElementsAre("put 1", "ready", "work 0+0+1", "flush"));
  EXPECT_TRUE(take.answered());
}

TEST(Parked, a_round_tries_about_as_many_takes_as_there_are_tasks) {
  RoundsDriver d;
  for (std::uint64_t caller = 1; caller <= 500; ++caller) d.take(caller, 1h);
  d.round();
  d.put(1001);
  d.calls();
  d.round();
  EXPECT_THAT(d.calls(), ElementsAre("put 1", "ready", "work 0+0+4", "flush"));
  std::vector<NewTask> tasks;
  for (int i = 0; i < 300; ++i) tasks.push_back(task("q"));
  d.put(1001, tasks);
  d.calls();
  d.round();
  EXPECT_THAT(d.calls(), SizeIs(7));
  EXPECT_EQ(d.rounds->stats().parked, 199);
}

TEST(Parked, without_parked_takes_the_store_is_not_asked_for_work) {
  RoundsDriver d;
  d.put(1);
  d.round();
  EXPECT_THAT(d.calls(), Not(Contains("ready")));
}

TEST(Parked, a_round_gives_only_so_much_and_the_next_one_follows_at_once) {
  RoundsDriver d({.items = 10});
  std::vector<HeardWork> takes;
  for (std::uint64_t caller = 1; caller <= 40; ++caller) {
    takes.push_back(d.take(caller, 1h));
  }
  for (int i = 0; i < 4; ++i) d.round();
  std::vector<NewTask> tasks;
  for (int i = 0; i < 40; ++i) tasks.push_back(task("q"));
  d.put(99, tasks);
  int rounds = 0;
  while (d.rounds->next_wakeup() <= d.now) {
    d.round();
    ++rounds;
  }
  EXPECT_GE(rounds, 2);
  EXPECT_TRUE(std::ranges::all_of(takes, &HeardWork::answered));
}

// ---- Leaving -----------------------------------------------------------------------------------

TEST(Parked, a_parked_take_whose_caller_leaves_is_forgotten) {
  RoundsDriver d;
  const auto gone = d.take(1, 1h);
  const auto stays = d.take(2, 1h);
  d.round();
  d.leave(1);
  EXPECT_EQ(d.rounds->next_wakeup(), TimePoint::min());
  d.put(3);
  d.round();
  EXPECT_FALSE(gone.answered());
  EXPECT_TRUE(stays.answered());
  EXPECT_TRUE(d.rounds->idle());
}

TEST(Parked, tasks_taken_for_a_caller_who_left_are_given_back_at_once) {
  RoundsDriver d;
  const TaskId id = d.direct.put(task("q")).id;
  const auto take = d.take(1);
  d.apply();
  EXPECT_EQ(d.direct.state_of(id), TaskState::processing);
  d.leave(1);
  EXPECT_EQ(d.rounds->next_wakeup(), TimePoint::min());
  d.round();
  EXPECT_FALSE(take.answered());
  EXPECT_EQ(d.direct.state_of(id), TaskState::queued);
  EXPECT_EQ(d.rounds->stats().given_back, 1);
  EXPECT_TRUE(d.rounds->idle());
}

TEST(Parked, tasks_taken_for_a_cancelled_take_go_to_a_parked_take) {
  RoundsDriver d;
  const TaskId id = d.direct.put(task("q")).id;
  const auto take = d.take(1);
  d.apply();
  const auto next = d.take(2, 1h);
  d.apply();
  d.cancel(take.ticket);
  d.cancel(take.ticket);
  d.round();
  EXPECT_THAT(ids_of(leases_of(next)), ElementsAre(id));
}

TEST(Parked, a_caller_who_leaves_while_its_round_is_applied_loses_nothing) {
  RoundsDriver d;
  const TaskId id = d.direct.put(task("q")).id;
  d.take(1, 1h);
  d.take(1, 1h);  // finds nothing and is parked
  Round round;
  d.rounds->gather(d.now, round).deliver();
  d.rounds->run(round);
  d.leave(1);
  d.rounds->keep(round).deliver();
  d.round();
  EXPECT_EQ(d.direct.state_of(id), TaskState::queued);
  EXPECT_TRUE(d.rounds->idle());
}

TEST(Parked, a_parked_take_may_be_served_and_left_at_the_same_time) {
  RoundsDriver d;
  d.take(1, 1h);
  d.round();
  const NewTask fed = task("q");
  d.put(2, {fed});
  Round round;
  d.rounds->gather(d.now, round).deliver();
  d.leave(1);
  d.rounds->run(round);
  EXPECT_EQ(d.direct.state_of(fed.id), TaskState::processing);
  d.rounds->keep(round).deliver();
  d.round();
  EXPECT_EQ(d.direct.state_of(fed.id), TaskState::queued);
  EXPECT_TRUE(d.rounds->idle());
}

TEST(Parked, what_was_answered_to_a_caller_that_had_left_can_be_given_back) {
  RoundsDriver d;
  const TaskId id = d.direct.put(task("q")).id;
  const auto take = d.take(1);
  d.round();
  d.leave(1);
  d.rounds->give_back(*take.get());
  EXPECT_EQ(d.rounds->next_wakeup(), TimePoint::min());
  d.round();
  EXPECT_EQ(d.direct.state_of(id), TaskState::queued);
}

TEST(Parked, a_task_that_is_given_back_because_its_taker_had_left_has_not_started) {
  RoundsDriver d;
  const TaskId id = d.direct.put(task("q", {.start_by = t0 + 1s})).id;
  d.take(1);
  d.apply();
  d.leave(1);
  d.round();
  EXPECT_EQ(d.direct.find(id).start_by, t0 + 1s);
}

TEST(Parked, leases_of_callers_that_left_are_given_back_even_while_stopping) {
  RoundsDriver d;
  const TaskId id = d.direct.put(task("q")).id;
  d.take(1);
  d.apply();
  d.rounds->stop().deliver();
  d.leave(1);
  EXPECT_FALSE(d.rounds->idle());
  d.round();
  EXPECT_EQ(d.direct.state_of(id), TaskState::queued);
  EXPECT_TRUE(d.rounds->idle());
}

}  // namespace
}  // namespace millrace
