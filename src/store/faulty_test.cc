#include "store/faulty.h"

#include <gtest/gtest.h>

#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/echo_store.h"
#include "tests/support/matchers.h"
#include "tests/support/model_store.h"

namespace millrace::test {
namespace {

TEST(FaultyStore, without_a_plan_every_call_goes_through) {
  EchoStore inner;
  FaultyStore store(inner);
  for (const StoreCall& call : every_call()) EXPECT_EQ(call.make(store).message, call.name);
  EXPECT_EQ(store.calls(), every_call().size());
  EXPECT_EQ(store.faults(), 0U);
  EXPECT_EQ(store.traits(), inner.traits());
}

TEST(FaultyStore, any_method_can_fail_before_it_is_applied) {
  for (const StoreCall& call : every_call()) {
    EchoStore inner;
    FaultyStore store(inner);
    store.plan({.when = Fault::When::before});
    EXPECT_EQ(call.make(store).message, "injected fault") << call.name;
    EXPECT_TRUE(inner.calls.empty()) << call.name;
    EXPECT_EQ(store.faults(), 1U);
  }
}

TEST(FaultyStore, any_method_can_lose_its_answer_after_it_is_applied) {
  for (const StoreCall& call : every_call()) {
    EchoStore inner;
    FaultyStore store(inner);
    store.plan({.when = Fault::When::after});
    EXPECT_EQ(call.make(store).message, "injected fault") << call.name;
    EXPECT_EQ(inner.calls, std::vector<std::string>{call.name});
  }
}

TEST(FaultyStore, only_the_planned_call_fails_with_the_planned_error) {
  EchoStore inner;
  FaultyStore store(inner);
  const Error error{.code = ErrorCode::corrupt, .message = "bad sector"};
  store.plan({.call = 2, .error = error});
  EXPECT_EQ(store.flush().error().message, "flush");
  EXPECT_EQ(store.flush().error(), error);
  EXPECT_EQ(store.flush().error().message, "flush");
}

TEST(FaultyStore, a_lasting_fault_fails_every_later_call_before_it_is_applied) {
  EchoStore inner;
  FaultyStore store(inner);
  store.plan({.call = 2, .when = Fault::When::after, .lasting = true});
  for (int i = 0; i < 4; ++i) static_cast<void>(store.flush());
  EXPECT_EQ(inner.calls.size(), 2U);
  EXPECT_EQ(store.faults(), 3U);
  EXPECT_EQ(store.calls(), 4U);
}

TEST(FaultyStore, a_healed_store_fails_no_more) {
  EchoStore inner;
  FaultyStore store(inner);
  store.plan({.lasting = true});
  static_cast<void>(store.flush());
  store.heal();
  EXPECT_EQ(store.flush().error().message, "flush");
}

TEST(FaultyStore, a_new_plan_counts_from_one_again) {
  EchoStore inner;
  FaultyStore store(inner);
  static_cast<void>(store.flush());
  store.plan({.call = 1});
  EXPECT_EQ(store.flush().error().message, "injected fault");
  EXPECT_EQ(store.calls(), 1U);
}

TEST(FaultyStore, a_lost_answer_leaves_its_change_behind) {
  ModelStore inner;
  FaultyStore store(inner);
  StoreDriver driver(store);
  driver.make_queue("q");
  const NewTask lost_answer = task("q");
  store.plan({.when = Fault::When::after});
  EXPECT_THAT(driver.try_put(lost_answer), FailsWith(ErrorCode::unavailable));
  EXPECT_TRUE(driver.exists(lost_answer.id));
  const NewTask never_put = task("q");
  store.plan({.when = Fault::When::before});
  EXPECT_THAT(driver.try_put(never_put), FailsWith(ErrorCode::unavailable));
  EXPECT_FALSE(driver.exists(never_put.id));
}

}  // namespace
}  // namespace millrace::test
