// Where takes and looks for ended leases begin, and how often they look further back.
#include <gtest/gtest.h>
#include <chrono>
#include <vector>

#include "store/embedded/state.h"
#include "store/postgres/lease_looks.h"
#include "store/postgres/marks.h"
#include "store/postgres/pace.h"
#include "store/postgres/taking.h"

namespace millrace::store_postgres {
namespace {

using namespace std::chrono_literals;
using Mark = Marks::Mark;

constexpr TimePoint t0{std::chrono::hours(500'000)};
constexpr std::uint16_t queue = 7;

TEST(Pace, what_is_quick_is_done_as_often_as_it_may) {
  Pace pace(1s);
  EXPECT_TRUE(pace.may_begin(0s));
  pace.ended(0s, 10ms);
  EXPECT_FALSE(pace.may_begin(1s));
  EXPECT_TRUE(pace.may_begin(1010ms));
}

TEST(Pace, what_takes_long_has_its_share_of_the_time) {
  Pace pace(1s, 30);
  pace.ended(0s, 2s);
  EXPECT_FALSE(pace.may_begin(61s));
  EXPECT_TRUE(pace.may_begin(62s));
}

TEST(Pace, what_nobody_notices_is_done_at_once) {
  Pace pace(0s, 20, 500ms);
  pace.ended(0s, 499ms);
  EXPECT_TRUE(pace.may_begin(499ms));
  pace.ended(0s, 500ms);
  EXPECT_FALSE(pace.may_begin(10s));
  EXPECT_TRUE(pace.may_begin(10'500ms));
}

TEST(Marks, begin_after_what_was_taken) {
  Marks marks;
  marks.taken(queue, 5, {t0, 3});
  marks.taken(queue, 5, {t0, 2});
  EXPECT_EQ(marks.at(queue, 5), (Mark{t0, 3}));
  EXPECT_EQ(marks.at(queue, 4), Mark{});
}

TEST(Marks, begin_further_down_where_something_came_in_until_it_is_taken) {
  Marks marks;
  marks.taken(queue, 5, {t0, 100});
  marks.lower(queue, 5, {t0, 3});
  EXPECT_EQ(marks.at(queue, 5), (Mark{t0, 3}));
  marks.taken(queue, 5, {t0, 3});
  EXPECT_EQ(marks.at(queue, 5), (Mark{t0, 3})) << "more may lie between";
  marks.emptied(queue, t0);
  EXPECT_EQ(marks.at(queue, 5), (Mark{t0, 100}));
}

TEST(Marks, tasks_that_fall_due_later_are_not_passed_over_when_the_clock_was_set_back) {
  Marks marks;
  marks.taken(queue, 5, {t0 + 10s, 100});
  marks.lower(queue, 5, {t0 + 6s, 7});
  marks.emptied(queue, t0 + 5s);
  EXPECT_EQ(marks.at(queue, 5), (Mark{t0 + 6s, 7}));
  marks.emptied(queue, t0 + 6s);
  EXPECT_EQ(marks.at(queue, 5), (Mark{t0 + 6s + 1ms, 0}));
  marks.emptied(queue, t0 + 20s);
  EXPECT_EQ(marks.at(queue, 5), (Mark{t0 + 10s, 100}));
}

TEST(Marks, a_look_below_that_found_nothing_is_over_at_once) {
  Marks marks;
  EXPECT_TRUE(marks.look_below(queue, 0s));
  marks.looked(queue, 0s, 1ms);
  marks.taken(queue, 5, {t0, 100});
  EXPECT_FALSE(marks.look_below(queue, 500ms));
  EXPECT_TRUE(marks.look_below(queue, 2s));
  EXPECT_EQ(marks.at(queue, 5), Mark{});
  marks.emptied(queue, t0);
  marks.looked(queue, 2s, 3s);
  EXPECT_EQ(marks.at(queue, 5), (Mark{t0, 100}));
  EXPECT_FALSE(marks.look_below(queue, 30s)) << "it took a second";
}

// ---- Takes that fail ---------------------------------------------------------------------------

class FailedTake : public ::testing::Test {
 protected:
  FailedTake() {
    state_.put_queue_at(queue, {.settings = {.name = "q"}});
    marks_.taken(queue, 5, {t0, 100});
    marks_.lower(queue, 5, {t0, 40});
  }

  Taking take(std::chrono::nanoseconds steady) { return {requests_, state_, marks_, steady, t0}; }

  const std::vector<TakeRequest> requests_ = {{.worker = "w", .queues = {{"q", 1}}},
                                              {.worker = "w", .queues = {{"q", 1}}}};
  embedded::State state_{{}};
  Marks marks_;
};

TEST_F(FailedTake, leaves_the_marks_where_they_were_although_it_looked_below) {
  Taking looking = take(10s);
  ASSERT_EQ(marks_.at(queue, 5), Mark{}) << "it does not look below";
  looking.ended(30s, false);
  EXPECT_EQ(marks_.at(queue, 5), (Mark{t0, 40}));
  take(31s).ended(32s, true);
  EXPECT_EQ(marks_.at(queue, 5), (Mark{t0, 40})) << "it looks below again, and would fail again";
  marks_.emptied(queue, t0);
  EXPECT_EQ(marks_.at(queue, 5), (Mark{t0, 100}));
}

TEST_F(FailedTake, has_taken_nothing_although_a_part_of_it_succeeded) {
  Taking taking = take(10s);
  marks_.taken(queue, 5, {t0, 200});
  taking.ended(10s, false);
  marks_.emptied(queue, t0);
  EXPECT_EQ(marks_.at(queue, 5), (Mark{t0, 100}));
}

TEST_F(FailedTake, is_another_thing_than_one_that_succeeded) {
  Taking taking = take(10s);
  marks_.taken(queue, 5, {t0, 30});
  taking.ended(10s, true);
  EXPECT_EQ(marks_.at(queue, 5), (Mark{t0, 30})) << "more may lie above";
}

// ---- Looks for ended leases --------------------------------------------------------------------

TEST(LeaseLooks, look_back_over_the_longest_call) {
  LeaseLooks looks;
  EXPECT_LT(looks.begin(t0, 0s), t0 - 1h) << "leases of before this process";
  looks.none(t0, 1ms);
  EXPECT_EQ(looks.begin(t0 + 1s, 1s), t0 - 1min);
}

TEST(LeaseLooks, look_back_less_where_that_is_dear) {
  LeaseLooks looks;
  looks.begin(t0, 0s);
  looks.none(t0, 500ms);
  EXPECT_EQ(looks.begin(t0 + 1s, 1s), t0 - 1s);
  looks.none(t0 + 1s, 1s);
  EXPECT_EQ(looks.begin(t0 + 2s, 2s), t0);
  looks.none(t0 + 2s, 2s);
  // What the looks since the last long one may have missed is looked for.
  EXPECT_EQ(looks.begin(t0 + 51s, 51s), t0 - 1min);
}

TEST(LeaseLooks, stay_where_something_was_found) {
  LeaseLooks looks;
  looks.begin(t0, 0s);
  looks.none(t0, 500ms);
  looks.begin(t0 + 10s, 10s);
  EXPECT_EQ(looks.begin(t0 + 11s, 11s), t0 - 1s);
}

TEST(LeaseLooks, that_failed_after_a_long_time_are_short_for_a_while) {
  LeaseLooks looks;
  looks.begin(t0, 0s);
  looks.none(t0, 1ms);
  ASSERT_EQ(looks.begin(t0 + 10s, 10s), t0 - 1min);
  looks.failed(30s);
  EXPECT_EQ(looks.begin(t0 + 31s, 31s), t0 - 1s);
  looks.failed(32s);  // a short one, which says nothing about long ones
  EXPECT_EQ(looks.begin(t0 + 90s, 90s), t0 - 1min);
}

TEST(LeaseLooks, find_new_ends_although_the_first_of_all_failed) {
  LeaseLooks looks;
  looks.begin(t0, 0s);
  looks.failed(20s);
  EXPECT_EQ(looks.begin(t0 + 21s, 21s), t0 + 21s - 1min);
  looks.none(t0 + 21s, 21s);
  EXPECT_EQ(looks.begin(t0 + 22s, 22s), t0 + 20s);
  EXPECT_LT(looks.begin(t0 + 80s, 80s), t0 - 1h) << "leases of before this process";
}

TEST(LeaseLooks, begin_anew_when_the_clock_was_put_back) {
  LeaseLooks looks;
  looks.begin(t0, 0s);
  looks.none(t0, 500ms);
  EXPECT_LT(looks.begin(t0 - 1s, 1s), t0 - 1h);
}

}  // namespace
}  // namespace millrace::store_postgres
