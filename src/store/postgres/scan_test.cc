// Where takes and scans for ended leases begin, and how often they look further back.
#include <gtest/gtest.h>
#include <chrono>
#include <vector>

#include "store/embedded/state.h"
#include "store/postgres/lease_scan.h"
#include "store/postgres/take_cursors.h"
#include "store/postgres/taking.h"
#include "store/postgres/throttle.h"

namespace millrace::store_postgres {
namespace {

using namespace std::chrono_literals;
using Cursor = TakeCursors::Cursor;

constexpr TimePoint t0{std::chrono::hours(500'000)};
constexpr std::uint16_t queue = 7;

TEST(Throttle, quick_work_waits_for_the_least_pause) {
  Throttle throttle(1s);
  EXPECT_TRUE(throttle.may_begin(0s));
  throttle.ended(0s, 10ms);
  EXPECT_FALSE(throttle.may_begin(1s));
  EXPECT_TRUE(throttle.may_begin(1010ms));
}

TEST(Throttle, slow_work_gets_its_share_of_the_time) {
  Throttle throttle(1s, 30);
  throttle.ended(0s, 2s);
  EXPECT_FALSE(throttle.may_begin(61s));
  EXPECT_TRUE(throttle.may_begin(62s));
}

TEST(Throttle, quick_work_is_done_at_once) {
  Throttle throttle(0s, 20, 500ms);
  throttle.ended(0s, 499ms);
  EXPECT_TRUE(throttle.may_begin(499ms));
  throttle.ended(0s, 500ms);
  EXPECT_FALSE(throttle.may_begin(10s));
  EXPECT_TRUE(throttle.may_begin(10'500ms));
}

TEST(TakeCursors, begin_after_what_was_taken) {
  TakeCursors cursors;
  cursors.taken(queue, 5, {t0, 3});
  cursors.taken(queue, 5, {t0, 2});
  EXPECT_EQ(cursors.at(queue, 5), (Cursor{t0, 3}));
  EXPECT_EQ(cursors.at(queue, 4), Cursor{});
}

TEST(TakeCursors, are_lowered_for_a_new_task_until_it_is_taken) {
  TakeCursors cursors;
  cursors.taken(queue, 5, {t0, 100});
  cursors.lower(queue, 5, {t0, 3});
  EXPECT_EQ(cursors.at(queue, 5), (Cursor{t0, 3}));
  cursors.taken(queue, 5, {t0, 3});
  EXPECT_EQ(cursors.at(queue, 5), (Cursor{t0, 3})) << "more may lie between";
  cursors.emptied(queue, t0);
  EXPECT_EQ(cursors.at(queue, 5), (Cursor{t0, 100}));
}

TEST(TakeCursors, tasks_that_fall_due_later_are_not_passed_over_when_the_clock_was_set_back) {
  TakeCursors cursors;
  cursors.taken(queue, 5, {t0 + 10s, 100});
  cursors.lower(queue, 5, {t0 + 6s, 7});
  cursors.emptied(queue, t0 + 5s);
  EXPECT_EQ(cursors.at(queue, 5), (Cursor{t0 + 6s, 7}));
  cursors.emptied(queue, t0 + 6s);
  EXPECT_EQ(cursors.at(queue, 5), (Cursor{t0 + 6s + 1ms, 0}));
  cursors.emptied(queue, t0 + 20s);
  EXPECT_EQ(cursors.at(queue, 5), (Cursor{t0 + 10s, 100}));
}

// As a process has them that has run for a while.
TakeCursors used_at(TimePoint now) {
  TakeCursors cursors;
  cursors.saw(now);
  cursors.rescan_if_due(queue, 0s);
  cursors.emptied(queue, now);
  cursors.rescanned(queue, 0s, 1ms);
  return cursors;
}

TEST(TakeCursors, the_first_scan_looks_for_what_was_ready_before_the_clock_was_set_back) {
  TakeCursors cursors;
  EXPECT_TRUE(cursors.rescan_if_due(queue, 0s));
  EXPECT_EQ(cursors.ready_by(queue, t0), never);
  cursors.emptied(queue, t0);
  EXPECT_EQ(cursors.ready_by(queue, t0), t0) << "it would walk over all that is delayed";
  EXPECT_TRUE(cursors.rescan_if_due(queue, 2s));
  EXPECT_EQ(cursors.ready_by(queue, t0), t0);
}

TEST(TakeCursors, when_the_clock_is_set_back_takes_look_ahead_until_one_found_less_than_it_wants) {
  TakeCursors cursors = used_at(t0);
  cursors.saw(t0 - 1h);
  EXPECT_EQ(cursors.ready_by(queue, t0 - 1h), t0);
  cursors.emptied(queue, t0 - 1h);
  EXPECT_EQ(cursors.ready_by(queue, t0 - 1h), t0 - 1h);
  cursors.queued(queue, t0 - 1s);
  EXPECT_EQ(cursors.ready_by(queue, t0 - 1h), t0 - 1s) << "a task was given back";
}

TEST(TakeCursors,
     a_rescan_looks_for_what_others_put_before_they_noticed_that_the_clock_was_set_back) {
  TakeCursors cursors = used_at(t0);
  cursors.saw(t0 - 1h);
  cursors.emptied(queue, t0 - 1h);
  EXPECT_TRUE(cursors.rescan_if_due(queue, 2s));
  EXPECT_EQ(cursors.ready_by(queue, t0 - 1h), t0 + TakeCursors::others_ahead);
  cursors.emptied(queue, t0 - 1h);
  cursors.rescanned(queue, 2s, 2s + 1ms);
  cursors.saw(t0 + 1s);
  EXPECT_TRUE(cursors.rescan_if_due(queue, 4s));
  EXPECT_EQ(cursors.ready_by(queue, t0 + 1s), t0 + 1s) << "the clock has caught up";
}

TEST(TakeCursors, a_rescan_that_found_nothing_ends_at_once) {
  TakeCursors cursors;
  EXPECT_TRUE(cursors.rescan_if_due(queue, 0s));
  cursors.rescanned(queue, 0s, 1ms);
  cursors.taken(queue, 5, {t0, 100});
  EXPECT_FALSE(cursors.rescan_if_due(queue, 500ms));
  EXPECT_TRUE(cursors.rescan_if_due(queue, 2s));
  EXPECT_EQ(cursors.at(queue, 5), Cursor{});
  cursors.emptied(queue, t0);
  cursors.rescanned(queue, 2s, 3s);
  EXPECT_EQ(cursors.at(queue, 5), (Cursor{t0, 100}));
  EXPECT_FALSE(cursors.rescan_if_due(queue, 30s)) << "it took a second";
}

// ---- Takes that fail ---------------------------------------------------------------------------

class FailedTake : public ::testing::Test {
 protected:
  FailedTake() {
    state_.put_queue_at(queue, {.settings = {.name = "q"}});
    cursors_.taken(queue, 5, {t0, 100});
    cursors_.lower(queue, 5, {t0, 40});
  }

  Taking take(std::chrono::nanoseconds steady) { return {requests_, state_, cursors_, steady, t0}; }

  const std::vector<TakeRequest> requests_ = {{.worker = "w", .queues = {{"q", 1}}},
                                              {.worker = "w", .queues = {{"q", 1}}}};
  embedded::State state_{{}};
  TakeCursors cursors_;
};

TEST_F(FailedTake, leaves_the_cursors_where_they_were_although_it_rescanned) {
  Taking looking = take(10s);
  ASSERT_EQ(cursors_.at(queue, 5), Cursor{}) << "it does not rescan";
  looking.ended(30s, false);
  EXPECT_EQ(cursors_.at(queue, 5), (Cursor{t0, 40}));
  take(31s).ended(32s, true);
  EXPECT_EQ(cursors_.at(queue, 5), (Cursor{t0, 40})) << "it rescans, and would fail again";
  cursors_.emptied(queue, t0);
  EXPECT_EQ(cursors_.at(queue, 5), (Cursor{t0, 100}));
}

TEST_F(FailedTake, looks_ahead_again_only_with_the_next_rescan) {
  Taking looking = take(10s);
  ASSERT_EQ(cursors_.ready_by(queue, t0), never);
  looking.ended(30s, false);
  Taking next = take(31s);
  EXPECT_EQ(cursors_.ready_by(queue, t0), t0);
  cursors_.emptied(queue, t0);
  next.ended(32s, true);
  take(10min);
  EXPECT_EQ(cursors_.ready_by(queue, t0), never);
}

TEST_F(FailedTake, has_taken_nothing_although_a_part_of_it_succeeded) {
  Taking taking = take(10s);
  cursors_.taken(queue, 5, {t0, 200});
  taking.ended(10s, false);
  cursors_.emptied(queue, t0);
  EXPECT_EQ(cursors_.at(queue, 5), (Cursor{t0, 100}));
}

TEST_F(FailedTake, differs_from_one_that_succeeded) {
  Taking taking = take(10s);
  cursors_.taken(queue, 5, {t0, 30});
  taking.ended(10s, true);
  EXPECT_EQ(cursors_.at(queue, 5), (Cursor{t0, 30})) << "more may lie above";
}

// ---- Scans for ended leases -------------------------------------------------------------------

TEST(LeaseScan, looks_back_over_the_longest_call) {
  LeaseScan scan;
  EXPECT_LT(scan.begin(t0, 0s), t0 - 1h) << "leases of before this process";
  scan.none(t0, 1ms);
  EXPECT_EQ(scan.begin(t0 + 1s, 1s), t0 - 1min);
}

TEST(LeaseScan, looks_back_less_where_that_is_expensive) {
  LeaseScan scan;
  scan.begin(t0, 0s);
  scan.none(t0, 500ms);
  EXPECT_EQ(scan.begin(t0 + 1s, 1s), t0 - 1s);
  scan.none(t0 + 1s, 1s);
  EXPECT_EQ(scan.begin(t0 + 2s, 2s), t0);
  scan.none(t0 + 2s, 2s);
  // The short scans since the last long one may have missed some; those are looked for now.
  EXPECT_EQ(scan.begin(t0 + 51s, 51s), t0 - 1min);
}

TEST(LeaseScan, stays_where_a_lease_was_found) {
  LeaseScan scan;
  scan.begin(t0, 0s);
  scan.none(t0, 500ms);
  scan.begin(t0 + 10s, 10s);
  EXPECT_EQ(scan.begin(t0 + 11s, 11s), t0 - 1s);
}

TEST(LeaseScan, is_short_for_a_while_after_a_long_one_failed) {
  LeaseScan scan;
  scan.begin(t0, 0s);
  scan.none(t0, 1ms);
  ASSERT_EQ(scan.begin(t0 + 10s, 10s), t0 - 1min);
  scan.failed(30s);
  EXPECT_EQ(scan.begin(t0 + 31s, 31s), t0 - 1s);
  scan.failed(32s);  // a short scan, which says nothing about long ones
  EXPECT_EQ(scan.begin(t0 + 90s, 90s), t0 - 1min);
}

TEST(LeaseScan, finds_new_ends_although_the_first_scan_failed) {
  LeaseScan scan;
  scan.begin(t0, 0s);
  scan.failed(20s);
  EXPECT_EQ(scan.begin(t0 + 21s, 21s), t0 + 21s - 1min);
  scan.none(t0 + 21s, 21s);
  EXPECT_EQ(scan.begin(t0 + 22s, 22s), t0 + 20s);
  EXPECT_LT(scan.begin(t0 + 80s, 80s), t0 - 1h) << "leases of before this process";
}

TEST(LeaseScan, begins_anew_when_the_clock_was_set_back) {
  LeaseScan scan;
  scan.begin(t0, 0s);
  scan.none(t0, 500ms);
  EXPECT_LT(scan.begin(t0 - 1s, 1s), t0 - 1h);
}

}  // namespace
}  // namespace millrace::store_postgres
