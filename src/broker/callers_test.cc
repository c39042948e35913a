// Turns, order, bounds and deadlines of requests that wait for their round.
#include "broker/callers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store.h"
#include "tests/support/rounds_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<NewTask> tasks(std::size_t count, std::size_t payload = 0) {
  std::vector<NewTask> made;
  for (std::size_t i = 0; i < count; ++i) {
    made.push_back(task("q", {.payload = std::string(payload, 'x')}));
  }
  return made;
}

// ---- Bounds of a round -------------------------------------------------------------------------

TEST(Callers, a_round_holds_at_most_so_many_items) {
  RoundsDriver d({.items = 10});
  d.put(1, tasks(6));
  d.put(2, tasks(4));
  d.put(3, tasks(1));
  d.apply();
  d.apply();
  EXPECT_THAT(d.calls(), ElementsAre("put 10", "put 1"));
}

TEST(Callers, a_round_holds_at_most_so_many_bytes) {
  RoundsDriver d({.bytes = 10'000});
  d.put(1, tasks(1, 4000));
  d.put(2, tasks(1, 4000));
  d.put(3, tasks(1, 4000));
  d.apply();
  d.apply();
  EXPECT_THAT(d.calls(), ElementsAre("put 2", "put 1"));
}

TEST(Callers, a_take_counts_as_the_tasks_it_may_bring) {
  RoundsDriver d({.items = 10});
  d.take(1, {}, {{"q", 4}, {"r", 4}});
  d.take(2, {}, {{"q", 3}});
  d.apply();
  d.apply();
  EXPECT_THAT(d.calls(), ElementsAre("work 0+0+1", "work 0+0+1"));
}

TEST(Callers, a_request_too_large_for_a_round_goes_alone) {
  RoundsDriver d({.items = 10});
  const auto small = d.put(1, tasks(1));
  const auto large = d.put(2, tasks(50));
  const auto after = d.put(3, tasks(1));
  d.apply();
  d.apply();
  d.apply();
  EXPECT_THAT(d.calls(), ElementsAre("put 1", "put 50", "put 1"));
  d.flush();
  EXPECT_EQ(large.get()->size(), 50);
}

// ---- Turns and order ---------------------------------------------------------------------------

TEST(Callers, callers_take_turns_however_many_requests_one_sends) {
  RoundsDriver d({.items = 10});
  std::vector<HeardPut> many;
  for (int i = 0; i < 10'000; ++i) many.push_back(d.put(1));
  std::vector<HeardPut> few;
  for (std::uint64_t caller = 2; caller < 7; ++caller) few.push_back(d.put(caller));
  d.round();
  for (const auto& put : few) EXPECT_TRUE(put.answered());
  EXPECT_TRUE(many[4].answered());
  EXPECT_FALSE(many[5].answered());
}

TEST(Callers, the_next_round_starts_with_the_caller_whose_turn_it_was) {
  RoundsDriver d({.items = 3});
  std::vector<HeardPut> first;
  std::vector<HeardPut> second;
  for (std::uint64_t caller = 1; caller <= 5; ++caller) first.push_back(d.put(caller));
  for (std::uint64_t caller = 1; caller <= 5; ++caller) second.push_back(d.put(caller));
  d.round();
  d.round();
  for (const auto& put : first) EXPECT_TRUE(put.answered());
  EXPECT_TRUE(second[0].answered());
  EXPECT_FALSE(second[1].answered());
}

TEST(Callers, requests_of_one_caller_are_applied_in_their_order) {
  RoundsDriver d;
  const NewTask first = task("q");
  const NewTask second = task("q");
  const auto missed = d.find(1, first.id);
  const auto put = d.put(1, {first});
  const auto taken = d.take(1, {}, {{"q", 5}});
  d.put(1, {second});
  d.apply();
  EXPECT_THAT(d.calls(), ElementsAre("find 1"));
  d.apply();
  EXPECT_THAT(d.calls(), ElementsAre("put 1", "work 0+0+1"));
  d.apply();
  EXPECT_THAT(d.calls(), ElementsAre("put 1"));
  d.flush();
  EXPECT_THAT(missed.get(), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(ids_of(leases_of(taken)), ElementsAre(first.id));
}

TEST(Callers, a_caller_that_has_to_wait_for_the_next_round_is_first_in_it) {
  RoundsDriver d({.items = 2});
  d.take(1);
  const auto waits = d.put(1);
  d.put(2);
  const auto behind = d.put(2, tasks(2));
  d.round();
  EXPECT_FALSE(waits.answered() || behind.answered());
  d.round();
  EXPECT_TRUE(waits.answered());
  EXPECT_FALSE(behind.answered());
}

TEST(Callers, answers_of_one_caller_come_in_the_order_of_its_requests) {
  RoundsDriver d;
  std::vector<int> order;
  const auto note = [&](int number) { return [&, number](auto) { order.push_back(number); }; };
  d.submit(put_request({1}, tasks(1), never, note(1)));
  d.submit(call_request<Task>(
      {1}, [](Store& store, TimePoint) { return find_task(store, fresh_id()); }, never, note(2)));
  d.submit(work_request({1}, {.takes = {{.queues = {{"q", 1}}}}}, never, note(3)));
  d.submit(put_request({1}, tasks(1), never, note(4)));
  d.apply();
  d.apply();
  d.flush();
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 4));
}

// ---- Bounds of what waits ----------------------------------------------------------------------

TEST(Callers, too_many_requests_are_limited_at_once) {
  RoundsDriver d({.waiting = {.requests = 2, .retry_after = 70ms}});
  d.put(1);
  d.put(2);
  const auto refused = d.put(3);
  EXPECT_THAT(refused.get(), FailsWith(ErrorCode::limited));
  EXPECT_EQ(refused.get().error().retry_after, 70ms);
  EXPECT_EQ(refused.ticket.number, 0);
  d.apply();
  EXPECT_FALSE(d.put(3).answered()) << "there is room again";
}

TEST(Callers, too_many_bytes_are_limited_at_once) {
  RoundsDriver d({.waiting = {.bytes = 10'000}});
  d.put(1, tasks(1, 6000));
  EXPECT_THAT(d.put(2, tasks(1, 6000)).get(), FailsWith(ErrorCode::limited));
  EXPECT_FALSE(d.put(2).answered());
}

TEST(Callers, one_caller_cannot_fill_the_waiting_room) {
  RoundsDriver d({.waiting = {.caller_requests = 2, .caller_bytes = 10'000}});
  d.put(1);
  d.put(1);
  EXPECT_THAT(d.put(1).get(), FailsWith(ErrorCode::limited));
  d.put(2, tasks(1, 6000));
  EXPECT_THAT(d.put(2, tasks(1, 6000)).get(), FailsWith(ErrorCode::limited));
  EXPECT_FALSE(d.put(3).answered());
}

TEST(Callers, a_request_that_could_never_wait_is_too_large) {
  RoundsDriver d({.waiting = {.caller_bytes = 10'000}});
  const auto refused = d.put(1, tasks(1, 10'000));
  EXPECT_THAT(refused.get(), FailsWith(ErrorCode::too_large));
  EXPECT_THAT(refused.get().error().message, HasSubstr("send less at once"));
}

TEST(Callers, everything_a_request_carries_counts) {
  const std::string big(1000, 'x');
  const NewTask plain = task("q");
  EXPECT_GE(bytes_of(task("q", {.payload = big})), bytes_of(plain) + 1000);
  EXPECT_GE(bytes_of(task("q", {.metadata = big})), bytes_of(plain) + 1000);
  EXPECT_GE(bytes_of(task("q", {.tags = {big}})), bytes_of(plain) + 1000);
  EXPECT_GE(bytes_of(Settlement{.result = big}), 1000);
  EXPECT_GE(bytes_of(Settlement{.error = error(big)}), 1000);
  EXPECT_GE(bytes_of(Settlement{.follow_ups = {task("q", {.payload = big})}}), 1000);
  EXPECT_GE(bytes_of(Extension{.log = {big}}), 1000);
  const auto call = [](Store& store, TimePoint) { return find_task(store, fresh_id()); };
  EXPECT_GE(call_request<Task>({1}, call, never, [](auto) {}, 1000).bytes, 1000);
}

// ---- Deadlines ---------------------------------------------------------------------------------

TEST(Callers, a_request_not_started_by_its_deadline_is_unavailable_and_never_applied) {
  RoundsDriver d;
  const auto late = d.put(1, t0 + 10ms);
  const auto patient = d.put(2, t0 + 11ms);
  d.now += 10ms;
  d.apply();
  EXPECT_THAT(late.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(late.get().error().message, HasSubstr("not started within 10 ms; nothing was"));
  EXPECT_THAT(d.calls(), ElementsAre("put 1"));
  d.flush();
  EXPECT_THAT(patient.get(), IsOk());
}

TEST(Callers, deadlines_are_kept_anywhere_in_the_line) {
  RoundsDriver d({.items = 1});
  d.put(1);
  d.put(1);
  const auto late = d.put(1, t0 + 10ms);
  EXPECT_EQ(d.rounds->next_deadline(), t0 + 10ms);
  d.now += 10ms;
  d.rounds->expire(d.now).deliver();
  EXPECT_THAT(late.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_EQ(d.rounds->next_deadline(), never);
  EXPECT_EQ(d.rounds->stats().waiting, 2);
}

TEST(Callers, once_applied_a_request_is_answered_with_the_truth_however_late) {
  RoundsDriver d;
  const auto put = d.put(1, t0 + 10ms);
  d.apply();
  d.now += 1h;
  d.apply();
  EXPECT_FALSE(put.answered());
  d.flush();
  EXPECT_THAT(put.get(), IsOk());
}

// ---- Leaving -----------------------------------------------------------------------------------

TEST(Callers, what_is_not_applied_yet_is_dropped_when_its_caller_leaves) {
  RoundsDriver d;
  const auto gone = d.put(1);
  const auto also_gone = d.put(1);
  const auto stays = d.put(2);
  d.leave(1);
  EXPECT_EQ(d.rounds->stats().waiting, 1);
  d.round();
  EXPECT_FALSE(gone.answered() || also_gone.answered());
  EXPECT_TRUE(stays.answered());
  EXPECT_THAT(d.calls(), ElementsAre("put 1", "flush"));
}

TEST(Callers, one_request_can_be_cancelled) {
  RoundsDriver d;
  const auto first = d.put(1);
  const auto second = d.put(1);
  const auto third = d.put(1);
  d.cancel(second.ticket);
  d.cancel(second.ticket);
  d.cancel({});
  d.round();
  EXPECT_TRUE(first.answered() && third.answered());
  EXPECT_FALSE(second.answered());
  d.cancel(first.ticket);
  EXPECT_TRUE(d.rounds->idle());
}

TEST(Callers, what_was_put_stays_and_is_answered_when_its_caller_leaves) {
  RoundsDriver d;
  const NewTask stays = task("q");
  const auto put = d.put(1, {stays});
  d.apply();
  d.leave(1);
  EXPECT_FALSE(put.answered());
  d.flush();
  EXPECT_TRUE(put.answered()) << "its completion may have to note what happened";
  EXPECT_EQ(d.direct.state_of(stays.id), TaskState::queued);
  EXPECT_TRUE(d.rounds->idle());
}

TEST(Callers, a_caller_that_left_may_come_back) {
  RoundsDriver d;
  d.put(1);
  d.leave(1);
  const auto again = d.put(1);
  d.round();
  EXPECT_TRUE(again.answered());
}

}  // namespace
}  // namespace millrace
