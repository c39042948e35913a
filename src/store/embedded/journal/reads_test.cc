// Reads of the journal that run beside changes: each sees whole tasks, wherever they lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>

#include "core/uuid.h"
#include "disk/real_disk.h"
#include "store/embedded/journal/journal_store.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/temporary_directory.h"

namespace millrace::embedded {
namespace {

using test::must;
using test::StoreDriver;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class JournalReads : public ::testing::Test {
 protected:
  JournalReads() {
    must(store_.open());
    driver_.make_queue("q");
  }

  // Its payload can be told from its id.
  NewTask task(std::size_t size = 300) {
    NewTask task{.id = test::fresh_id(), .queue = "q", .type = "kept"};
    task.payload = payload(task.id, size);
    task.tags = {"tag"};
    return task;
  }
  static std::string payload(const TaskId& id, std::size_t size) {
    std::string text;
    while (text.size() < size) text += to_text(id.value);
    text.resize(size);
    return text;
  }

  test::TemporaryDirectory directory_;
  JournalStore store_{open_directory(directory_.path(), DirectoryMode::existing).value(),
                      {.segment_size = 64U << 10U, .cache_size = 2000}};
  StoreDriver driver_{store_};
};

// Meanwhile segments are written, cleaned and used again.
TEST_F(JournalReads, beside_changes_every_task_is_seen_with_its_own_bytes) {
  std::vector<TaskRef> kept;
  for (int i = 0; i < 200; ++i) kept.emplace_back(driver_.put(task()).id);
  must(store_.flush());
  std::atomic<bool> done = false;
  std::atomic<int> reads = 0;
  std::atomic<int> wrong = 0;
  const auto look = [&] {
    while (!done) {
      const auto found = store_.find(kept, {});
      wrong += found ? 0 : 1;
      for (const auto& each : *found) {
        wrong += each && each->payload == payload(each->id, 300) ? 0 : 1;
      }
      const auto page =
          store_.list({.queue = "q", .type = "kept", .limit = 1000, .detail = Detail::full});
      wrong += page && page->tasks.size() >= kept.size() ? 0 : 1;
      for (const Task& each : page->tasks) {
        wrong += each.payload == payload(each.id, each.payload.size()) ? 0 : 1;
      }
      ++reads;
    }
  };
  std::thread first(look);
  std::thread second(look);
  const auto first_segment = store_.log_first();
  for (int round = 0; round < 4000 || reads < 20; ++round) {
    const TaskId id = driver_.put(task(2000)).id;
    if (round % 3 == 0) must(store_.flush());
    must(driver_.try_remove(id));
    if (round == 200'000) break;
  }
  done = true;
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(store_.log_first(), first_segment + 10) << "segments were to be cleaned meanwhile";
}

TEST_F(JournalReads, a_head_is_read_without_its_payload_however_large_that_is) {
  std::vector<Put> puts;
  for (int i = 0; i < 40; ++i) puts.push_back(driver_.put(task(900'000)));
  must(store_.flush());
  driver_.put(task(3000));  // pushes the others out of the cache
  must(store_.flush());
  driver_.put(task(3000));
  const TaskPage page = must(store_.list({.queue = "q", .limit = 100}));
  EXPECT_THAT(page.tasks, SizeIs(42)) << "16 MiB are enough for the heads of 36 MB of tasks";
  for (const Task& each : page.tasks) {
    EXPECT_THAT(each.payload, IsEmpty());
    EXPECT_EQ(each.type, "kept");
    EXPECT_THAT(each.tags, ::testing::ElementsAre("tag"));
  }
  EXPECT_LT(must(store_.list({.queue = "q", .limit = 100, .detail = Detail::full})).tasks.size(),
            42U);
  Task whole = driver_.find(puts.front().id);
  EXPECT_EQ(whole.payload, payload(whole.id, 900'000));
  whole.payload.clear();
  EXPECT_EQ(must(find_task(store_, puts.front().id, head_only)), whole);
}

TEST_F(JournalReads, a_segment_stays_while_a_read_needs_it) {
  std::vector<Put> puts;
  for (int i = 0; i < 20; ++i) puts.push_back(driver_.put(task(5000)));
  must(store_.flush());
  std::optional<Segments::Pin> pin(std::in_place, store_.segments(), store_.log_first());
  const std::uint64_t first = store_.log_first();
  const auto exists = [&] {
    return std::filesystem::exists(directory_.path() + "/" + segment_name(first));
  };
  const auto churn = [&] {
    for (int i = 0; i < 600; ++i) {
      const TaskId id = driver_.put(task(2000)).id;
      must(driver_.try_remove(id));
      must(store_.flush());
    }
  };
  churn();
  ASSERT_GT(store_.log_first(), first) << "the first segment is not needed any more";
  EXPECT_TRUE(exists());
  pin.reset();
  churn();
  EXPECT_FALSE(exists());
}

}  // namespace
}  // namespace millrace::embedded
