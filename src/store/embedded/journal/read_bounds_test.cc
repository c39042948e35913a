// What one read may cost: bytes and separate reads of the disk, counted. And what a read that
// fails costs: itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <optional>

#include "disk/real_disk.h"
#include "store/embedded/journal/journal_store.h"
#include "store/embedded/list.h"
#include "store/store.h"
#include "tests/support/counting_disk.h"
#include "tests/support/driver.h"
#include "tests/support/temporary_directory.h"

namespace millrace::embedded {
namespace {

using test::must;
using test::StoreDriver;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t mib = 1U << 20U;

class ReadBounds : public ::testing::Test {
 protected:
  ReadBounds() {
    must(store_.open());
    driver_.make_queue("q");
  }

  NewTask task(std::size_t size, std::string tag = "tag") {
    return {.id = test::fresh_id(),
            .queue = "q",
            .type = "t",
            .payload = std::string(size, 'x'),
            .tags = {std::move(tag)}};
  }
  std::vector<TaskId> put(std::size_t count, std::size_t size) {
    std::vector<TaskId> ids;
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back(driver_.put(task(size)).id);
      if (i % 16 == 0) must(store_.flush());
    }
    std::ranges::reverse(ids);
    return ids;
  }
  // From now on every task is only in the log, but for the one or two that push them out.
  void cool() {
    for (int i = 0; i < 2; ++i) {
      must(store_.flush());
      must(driver_.try_remove(driver_.put(task(3000)).id));
    }
    must(store_.flush());
    counts_.reset();
  }

  // The ids of all pages; every page must be within the bounds.
  std::vector<TaskId> pages(ListRequest request) {
    std::vector<TaskId> ids;
    for (;;) {
      counts_.reset();
      const TaskPage page = must(store_.list(request));
      EXPECT_LE(counts_.bytes, 18 * mib) << "a page ends after 16 MiB read";
      EXPECT_LE(counts_.reads, 514U) << "a page ends after 512 reads";
      for (const Task& each : page.tasks) ids.push_back(each.id);
      if (!page.next) return ids;
      request.before = page.next;
    }
  }

  test::TemporaryDirectory directory_;
  test::DiskCounts counts_;
  JournalStore store_{
      std::make_unique<test::CountingDisk>(
          open_directory(directory_.path(), DirectoryMode::existing).value(), counts_),
      {.sync = SyncMode::none, .segment_size = 8 * mib, .cache_size = 2000}};
  StoreDriver driver_{store_};
};

TEST_F(ReadBounds, a_page_of_whole_large_tasks_reads_what_it_returns) {
  const auto ids = put(60, 900'000);
  cool();
  EXPECT_EQ(pages({.queue = "q", .limit = 1000, .detail = Detail::full}), ids);
  counts_.reset();
  const TaskPage page = must(store_.list({.queue = "q", .limit = 1000, .detail = Detail::full}));
  EXPECT_GE(page.tasks.size(), 16U);
  EXPECT_LE(counts_.bytes, page.tasks.size() * 1'000'000);
}

TEST_F(ReadBounds, a_page_counts_the_payloads_that_it_read_and_does_not_return) {
  put(500, 60'000);
  cool();
  EXPECT_THAT(pages({.queue = "q", .tag = "another"}), IsEmpty());
  EXPECT_LT(must(store_.list({.queue = "q", .tag = "another"})).looked_at, 400U);
  EXPECT_THAT(pages({.queue = "q", .limit = 1000}), SizeIs(500));
}

TEST_F(ReadBounds, a_page_of_heads_leaves_large_results_where_they_are) {
  put(40, 100);
  for (int i = 0; i < 40; ++i) {
    const Lease lease = driver_.take_one("q");
    must(driver_.try_extend({.id = lease.id, .token = lease.token, .progress = 50}));
    Settlement settlement = test::done(lease, std::string(900'000, 'r'));
    settlement.error = TaskError{.code = "code", .message = "message"};
    driver_.settle(settlement);
    if (i % 8 == 0) must(store_.flush());
  }
  cool();
  const TaskPage page = must(store_.list({.queue = "q", .limit = 100}));
  EXPECT_THAT(page.tasks, SizeIs(40));
  EXPECT_LT(counts_.bytes, 4 * mib);
  for (const Task& each : page.tasks) {
    Task whole = driver_.find(each.id);
    EXPECT_THAT(whole.result, SizeIs(900'000));
    whole.payload.clear(), whole.result.clear(), whole.log.clear(), whole.history.clear();
    EXPECT_EQ(each, whole);
  }
}

// The same while the results are in memory.
TEST_F(ReadBounds, a_list_shows_heads_alike_wherever_their_notes_are) {
  driver_.put(task(100));
  const Lease lease = driver_.take_one("q");
  must(driver_.try_extend(
      {.id = lease.id, .token = lease.token, .progress = 50, .log = {std::string(2000, 'l')}}));
  driver_.settle(test::done(lease, std::string(900'000, 'r')));
  const Task warm = driver_.list().at(0);
  cool();
  EXPECT_EQ(driver_.list().at(0), warm);
  EXPECT_EQ(warm.progress, driver_.find(lease.id).progress);
}

TEST_F(ReadBounds, a_search_for_one_task_by_tag_reads_many_at_once) {
  put(2000, 300);
  cool();
  EXPECT_THAT(must(store_.list({.queue = "q", .tag = "another", .limit = 1})).tasks, IsEmpty());
  EXPECT_LT(counts_.reads, 100U);
}

TEST_F(ReadBounds, a_page_ends_after_so_many_separate_reads) {
  const auto ids = put(600, 70'000);
  cool();
  EXPECT_THAT(pages({.queue = "q", .tag = "another"}), IsEmpty());
  EXPECT_EQ(pages({.queue = "q", .limit = 1000}), ids);
}

// ---- Changes meanwhile --------------------------------------------------------------------------

// Between two steps of a list tasks change their states and queues; the list shows each once.
TEST_F(ReadBounds, a_task_that_moves_meanwhile_is_listed_once) {
  driver_.make_queue("other");
  std::map<TaskNumber, TaskId> by_number;
  for (int i = 0; i < 900; ++i) {
    NewTask each = task(300);
    if (i % 3 == 0) each.queue = "other";
    const Put put = driver_.put(each);
    by_number[put.number] = put.id;
  }
  cool();
  int rounds = 0;
  std::vector<Lease> leases;
  counts_.on_read = [&]() -> std::optional<Error> {
    const auto hook = std::exchange(counts_.on_read, nullptr);
    ++rounds;
    for (const char* queue : {"q", "other"}) {
      for (Lease& lease : driver_.take(queue, 7)) leases.push_back(std::move(lease));
    }
    for (int i = 0; i < 5 && !leases.empty(); ++i) {
      driver_.settle(test::done(leases.back()));
      leases.pop_back();
    }
    if (rounds == 2) driver_.make_queue("late");
    auto waiting = driver_.list({.queue = "other", .states = {TaskState::queued}});
    if (!waiting.empty()) {
      driver_.update({.id = waiting.back().id, .queue = rounds < 3 ? "q" : "late"});
    }
    driver_.put(task(300));
    counts_.on_read = hook;
    return std::nullopt;
  };
  std::vector<TaskId> listed;
  ListRequest request{.tag = "tag", .limit = 200};
  for (;;) {
    const TaskPage page = must(store_.list(request));
    for (const Task& each : page.tasks) {
      if (by_number.contains(each.number)) listed.push_back(each.id);
    }
    if (!page.next) break;
    request.before = page.next;
  }
  counts_.on_read = nullptr;
  std::vector<TaskId> ids;
  for (const auto& [number, id] : by_number) ids.insert(ids.begin(), id);
  EXPECT_GT(rounds, 4);
  EXPECT_EQ(listed, ids);
}

// ---- Failures -----------------------------------------------------------------------------------

TEST_F(ReadBounds, a_read_that_fails_fails_alone) {
  const auto ids = put(20, 5000);
  cool();
  counts_.on_read = [] {
    return Error{.code = ErrorCode::unavailable, .message = "cannot read: bad sector"};
  };
  const auto found = store_.find(std::vector<TaskRef>{ids.at(3)}, {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unavailable);
  EXPECT_THAT(found.error().message, HasSubstr(".journal at offset "));
  EXPECT_THAT(found.error().message, HasSubstr("bad sector"));
  EXPECT_TRUE(found.error().retry_after) << "that tells it from a store that has failed";
  EXPECT_FALSE(store_.list({.queue = "q"}));
  counts_.on_read = nullptr;
  EXPECT_THAT(driver_.list({.queue = "q"}), SizeIs(20));
  driver_.put(task(100));
  must(store_.flush());
}

TEST_F(ReadBounds, a_file_that_cannot_be_opened_now_is_no_reason_to_fail_for_good) {
  const auto ids = put(20, 900'000);
  cool();
  for (const ErrorCode code : {ErrorCode::unavailable, ErrorCode::not_found}) {
    counts_.on_open = [&] { return Error{.code = code, .message = "cannot open: too many"}; };
    // The oldest one: its segment is not open yet.
    const auto found = store_.find(std::vector<TaskRef>{ids.back()}, {});
    ASSERT_FALSE(found) << "a missing file is no missing task";
    EXPECT_EQ(found.error().code, ErrorCode::unavailable);
  }
  counts_.on_open = nullptr;
  EXPECT_THAT(driver_.find(ids.back()).payload, SizeIs(900'000));
  driver_.put(task(100));
  must(store_.flush());
}

// Only the bytes that cannot be read are missed, though others would be read along with them.
TEST_F(ReadBounds, a_bad_place_in_a_file_fails_only_reads_of_what_is_there) {
  const auto ids = put(20, 1000);
  cool();
  const auto refs = std::vector<TaskRef>(ids.begin(), ids.end());
  int failures = 1;
  counts_.on_read = [&]() -> std::optional<Error> {
    if (failures-- <= 0) return std::nullopt;
    return Error{.code = ErrorCode::unavailable, .message = "cannot read: bad sector"};
  };
  EXPECT_THAT(must(store_.find(refs, {})), SizeIs(20));
}

// A change that needs the bytes cannot be made halfway.
TEST_F(ReadBounds, a_change_that_cannot_read_what_it_needs_fails_the_store) {
  put(20, 5000);
  cool();
  counts_.on_read = [] {
    return Error{.code = ErrorCode::unavailable, .message = "cannot read: bad sector"};
  };
  const auto taken = store_.work({}, {}, std::vector<TakeRequest>{{"w", {{"q", 1}}}}, test::t0);
  ASSERT_FALSE(taken);
  counts_.on_read = nullptr;
  EXPECT_EQ(store_.queues({}).error().code, ErrorCode::unavailable);
  EXPECT_FALSE(store_.queues({}).error().retry_after);
  EXPECT_EQ(store_.flush().error().code, ErrorCode::unavailable);
}

// ---- Locks --------------------------------------------------------------------------------------

TEST_F(ReadBounds, no_turn_waits_for_a_file_that_is_being_opened) {
  const auto ids = put(20, 900'000);
  cool();
  std::promise<void> opening;
  std::promise<void> go_on;
  std::atomic<bool> first = true;
  counts_.on_open = [&]() -> std::optional<Error> {
    if (first.exchange(false)) {
      opening.set_value();
      go_on.get_future().wait();
    }
    return std::nullopt;
  };
  auto slow = std::async(std::launch::async, [&] { return driver_.find(ids.back()); });
  opening.get_future().wait();
  auto turn = std::async(std::launch::async, [&] {
    const Segments::Pin pin(store_.segments(), store_.log_first());
    store_.segments().forget(1'000'000);
    return store_.segments().first_pinned();
  });
  EXPECT_EQ(turn.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  go_on.set_value();
  EXPECT_THAT(slow.get().payload, SizeIs(900'000));
}

}  // namespace
}  // namespace millrace::embedded
