#include "store/metered.h"

#include <gtest/gtest.h>

#include "core/clock.h"
#include "tests/support/driver.h"
#include "tests/support/echo_store.h"
#include "tests/support/model_store.h"

namespace millrace::test {
namespace {

// Every flush takes 3 ms.
class SlowStore : public ForwardingStore {
 public:
  SlowStore(Store& inner, ManualClock& clock) : ForwardingStore(inner), clock_(clock) {}
  Result<void> flush() override {
    clock_.advance(3ms);
    return ForwardingStore::flush();
  }

 private:
  ManualClock& clock_;
};

TEST(MeteredStore, hands_every_method_on_and_counts_it_under_its_name) {
  EchoStore inner;
  ManualClock clock;
  MeteredStore store(inner, clock);
  for (const StoreCall& call : every_call()) EXPECT_EQ(call.make(store).message, call.name);
  const auto figures = store.figures();
  ASSERT_EQ(figures.size(), every_call().size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    EXPECT_EQ(name_of(figures[i].method), every_call()[i].name);
    EXPECT_EQ(figures[i].calls, 1U);
    EXPECT_EQ(figures[i].items, 0U);
    EXPECT_EQ(figures[i].errors_of(ErrorCode::unavailable), 1U);
    EXPECT_EQ(figures[i].seconds.count, 1U);
  }
  EXPECT_EQ(store.traits(), inner.traits());
}

TEST(MeteredStore, counts_what_the_answers_were_about) {
  ModelStore inner;
  ManualClock clock;
  MeteredStore store(inner, clock);
  StoreDriver driver(store);
  driver.make_queue("q");
  driver.put_all({task("q"), task("q"), task("q", {.delay = 1s})});
  const auto leases = driver.take("q");
  driver.settle(done(leases.at(0)));
  driver.extend(leases.at(1));
  driver.pass(1s);
  driver.advance();
  driver.list();
  must(store.clear("q", 10, driver.now));
  const auto items = [&](StoreMethod method) { return store.figures(method).items; };
  EXPECT_EQ(items(StoreMethod::put_queue), 1U);
  EXPECT_EQ(items(StoreMethod::put), 3U);
  EXPECT_EQ(items(StoreMethod::work), 4U) << "two leases, a settlement, an extension";
  EXPECT_EQ(store.figures(StoreMethod::work).calls, 3U);
  EXPECT_EQ(items(StoreMethod::advance), 1U);
  EXPECT_EQ(items(StoreMethod::list), 3U);
  EXPECT_EQ(items(StoreMethod::clear), 1U);
  EXPECT_EQ(items(StoreMethod::find), 0U);
}

TEST(MeteredStore, counts_errors_of_calls_and_of_items_by_their_code) {
  ModelStore inner;
  ManualClock clock;
  MeteredStore store(inner, clock);
  StoreDriver driver(store);
  driver.make_queue("q");
  static_cast<void>(store.put(std::vector{task("q"), task("nowhere"), NewTask{}}, t0));
  static_cast<void>(driver.try_settle({.id = fresh_id(), .expect = Held{Token{1}}}));
  static_cast<void>(driver.try_find(fresh_id()));
  const StoreFigures put = store.figures(StoreMethod::put);
  EXPECT_EQ(put.items, 3U);
  EXPECT_EQ(put.errors_of(ErrorCode::not_found), 1U);
  EXPECT_EQ(put.errors_of(ErrorCode::invalid), 1U);
  EXPECT_EQ(store.figures(StoreMethod::work).errors_of(ErrorCode::not_found), 1U);
  EXPECT_EQ(store.figures(StoreMethod::find).errors_of(ErrorCode::not_found), 1U);
  EXPECT_EQ(store.figures(StoreMethod::find).items, 0U);
}

TEST(MeteredStore, observes_how_long_each_call_takes) {
  ModelStore inner;
  ManualClock clock(t0);
  SlowStore slow(inner, clock);
  MeteredStore store(slow, clock);
  for (int i = 0; i < 4; ++i) must(store.flush());
  must(store.list({}));
  EXPECT_NEAR(store.figures(StoreMethod::flush).seconds.sum, 0.012, 1e-9);
  EXPECT_EQ(store.figures(StoreMethod::flush).seconds.count, 4U);
  EXPECT_EQ(store.figures(StoreMethod::flush).items, 4U);
  EXPECT_EQ(store.figures(StoreMethod::list).seconds.sum, 0.0);
}

}  // namespace
}  // namespace millrace::test
