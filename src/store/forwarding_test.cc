#include "store/forwarding.h"

#include <gtest/gtest.h>

#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/echo_store.h"
#include "tests/support/model_store.h"

namespace millrace::test {
namespace {

TEST(ForwardingStore, hands_every_method_on_to_the_store_behind) {
  EchoStore inner;
  ForwardingStore store(inner);
  for (const StoreCall& call : every_call()) {
    inner.calls.clear();
    EXPECT_EQ(call.make(store).message, call.name);
    EXPECT_EQ(inner.calls, std::vector<std::string>{call.name});
  }
  EXPECT_EQ(store.traits(), inner.traits());
}

TEST(ForwardingStore, the_store_behind_calls_the_function_it_was_given) {
  struct Recorder : EchoStore {
    std::function<void(const Hint&)> tell;
    void on_hint(std::function<void(const Hint&)> given) override { tell = std::move(given); }
  } inner;
  ForwardingStore store(inner);
  Hint told;
  store.on_hint([&](const Hint& hint) { told = hint; });
  inner.tell({.work = {"q"}});
  EXPECT_EQ(told, (Hint{.work = {"q"}}));
}

TEST(ForwardingStore, hands_arguments_and_answers_on_unchanged) {
  ModelStore inner;
  ForwardingStore store(inner);
  StoreDriver driver(store);
  driver.make_queue("q");
  const Put stored = driver.put(task("q", {.payload = "p"}));
  const Lease lease = driver.take_one("q");
  EXPECT_EQ(lease.id, stored.id);
  EXPECT_EQ(lease.payload, "p");
  EXPECT_EQ(driver.settle(done(lease, "r")), TaskState::completed);
  EXPECT_EQ(StoreDriver(inner).find(stored.id).result, "r");
  EXPECT_EQ(dump(store, driver.now), dump(inner, driver.now));
}

}  // namespace
}  // namespace millrace::test
