// The same sequences on PostgreSQL, against the store in memory.
#include <gtest/gtest.h>
#include <algorithm>
#include <memory>
#include <utility>

#include "store/embedded/memory.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/random/seeds.h"
#include "tests/support/postgres_stores.h"

namespace millrace::test {
namespace {

using namespace std::chrono_literals;

// Tasks that are kept for days go with the table of their day, and so later than in memory
// (Traits::retention_step); so here nothing is kept for that long.
class BriefStore : public ForwardingStore {
 public:
  explicit BriefStore(std::unique_ptr<Store> store)
      : ForwardingStore(*store), owned_(std::move(store)) {}

  Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) override {
    QueueSettings brief = settings;
    for (Keep* keep : {&brief.keep_completed, &brief.keep_dead}) {
      if (keep->for_time) keep->for_time = std::min<Duration>(*keep->for_time, 23h);
    }
    return ForwardingStore::put_queue(brief, mode, now);
  }

 private:
  std::unique_ptr<Store> owned_;
};

template <std::unique_ptr<Store> (*open)()>
std::unique_ptr<Store> open_brief() {
  return std::make_unique<BriefStore>(open());
}

TEST(RandomSequence, postgres_agrees_with_memory) {
  expect_agreement({open_brief<open_memory>, open_brief<open_fresh_postgres>}, 30);
}

}  // namespace
}  // namespace millrace::test
