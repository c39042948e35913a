// The conformance suite: what every store must do, one TEST_P per promise.
//
// A store joins with one file that has a factory and INSTANTIATE_TEST_SUITE_P; see memory_store.cc.
#pragma once

#include <gmock/gmock.h>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/values.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/matchers.h"

namespace millrace::test {

struct StoreFactory {
  std::string name;
  // A fresh, empty store.
  std::function<std::unique_ptr<Store>()> make;
  // Closes a store that make() made and opens it again on what is left of it. Only for stores that
  // keep something.
  std::function<std::unique_ptr<Store>(std::unique_ptr<Store>)> reopen = nullptr;
  // What is wrong with the store's indexes and counters after a test, for stores that can be looked
  // into.
  std::function<std::vector<std::string>(Store&)> differences = nullptr;
};

inline void PrintTo(const StoreFactory& factory, std::ostream* os) {
  *os << factory.name;
}

// For INSTANTIATE_TEST_SUITE_P: names a test after its store.
inline std::string store_name(const ::testing::TestParamInfo<StoreFactory>& info) {
  return info.param.name;
}

// Each test has a store of its own with one queue, "q", and drives it with StoreDriver's verbs.
class StoreConformance : public ::testing::TestWithParam<StoreFactory>, protected StoreDriver {
 protected:
  StoreConformance() : StoreConformance(GetParam().make()) {}

  void TearDown() override {
    if (!GetParam().differences) return;
    EXPECT_THAT(GetParam().differences(*owned_), ::testing::IsEmpty());
  }

  bool can_reopen() const { return GetParam().reopen != nullptr; }
  void reopen() {
    owned_ = GetParam().reopen(std::move(owned_));
    use(*owned_);
  }

  // Does something that the store must refuse: afterwards everything in it is as before.
  template <class Act>
  void expect_unchanged(Act act, Where where = Where::current()) {
    const std::string before = dump(store(), now);
    act();
    const std::string after = dump(store(), now);
    EXPECT_TRUE(before == after) << where.file_name() << ":" << where.line()
                                 << ": the store has changed\n"
                                 << difference(before, after);
  }

  // A moment at which the retention of a task that ended at `moment` and is kept for so long is
  // over.
  TimePoint pruned_by(TimePoint moment, Duration kept) {
    const Duration step = kept < 24h ? Duration::zero() : store().traits().retention_step;
    return later(later(moment, kept), step);
  }

 private:
  explicit StoreConformance(std::unique_ptr<Store> store)
      : StoreDriver(*store), owned_(std::move(store)) {
    make_queue("q");
  }

  std::unique_ptr<Store> owned_;
};

// Skips a test about something that the store does not claim: NEEDS_TRAIT(exact_order);
#define NEEDS_TRAIT(trait) \
  if (!store().traits().trait) GTEST_SKIP() << "the store does not claim " #trait

}  // namespace millrace::test
