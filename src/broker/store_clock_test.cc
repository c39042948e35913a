#include "broker/store_clock.h"

#include <gtest/gtest.h>

#include "store/faulty.h"
#include "tests/support/builders.h"
#include "tests/support/matchers.h"
#include "tests/support/shared_server.h"

namespace millrace {
namespace {

using namespace millrace::test;

TEST(StoreClock, is_the_machines_own_where_the_store_has_none) {
  SharedServer server;
  const auto store = server.connect();
  ManualClock machine(t0);
  StoreClock clock(machine);
  EXPECT_THAT(clock.follow(*store), IsOk());
  EXPECT_EQ(clock.now(), t0);
  machine.advance(1s);
  EXPECT_EQ(clock.now(), t0 + 1s);
  EXPECT_EQ(clock.steady(), 1s);
}

TEST(StoreClock, follows_the_stores_and_goes_on_between_two_looks) {
  SharedServer server({.time = t0 + 1h});
  const auto store = server.connect();
  ManualClock machine(t0);
  StoreClock clock(machine);
  EXPECT_THAT(clock.follow(*store), IsOk());
  EXPECT_EQ(clock.now(), t0 + 1h);
  machine.advance(10s);
  EXPECT_EQ(clock.now(), t0 + 1h + 10s);
  machine.set(t0 + 2h);
  server.set_time(t0 + 1h + 11s);
  EXPECT_THAT(clock.follow(*store), IsOk());
  EXPECT_EQ(clock.now(), t0 + 1h + 11s) << "whatever was done to the machine's";
}

TEST(StoreClock, does_not_jump_for_what_the_way_to_the_store_may_explain) {
  SharedServer server({.time = t0 + 15ms});
  const auto store = server.connect();
  ManualClock machine(t0);
  StoreClock clock(machine);
  EXPECT_THAT(clock.follow(*store), IsOk());
  EXPECT_EQ(clock.now(), t0);
}

TEST(StoreClock, does_not_believe_an_answer_that_took_long) {
  struct Slow : ForwardingStore {
    Slow(Store& inner, ManualClock& machine) : ForwardingStore(inner), clock(machine) {}
    Result<std::optional<TimePoint>> time() override {
      clock.advance(2s);
      return ForwardingStore::time();
    }
    ManualClock& clock;
  };
  SharedServer server({.time = t0 + 1h});
  const auto inner = server.connect();
  ManualClock machine(t0);
  Slow store(*inner, machine);
  StoreClock clock(machine);
  EXPECT_THAT(clock.follow(store), IsOk());
  EXPECT_EQ(clock.offset(), 0s);
}

TEST(StoreClock, keeps_what_it_knew_while_the_store_is_away) {
  SharedServer server({.time = t0 + 1h});
  const auto store = server.connect();
  ManualClock machine(t0);
  StoreClock clock(machine);
  EXPECT_THAT(clock.follow(*store), IsOk());
  server.go_away();
  EXPECT_THAT(clock.follow(*store), FailsWith(ErrorCode::unavailable));
  EXPECT_EQ(clock.now(), t0 + 1h);
}

}  // namespace
}  // namespace millrace
