// What only the journal has: files, cleaning, damage, restarts. What every store does is tested in
// tests/conformance, and faults of the disk in tests/sim.
#include "store/embedded/journal/journal_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/crc32c.h"
#include "disk/real_disk.h"
#include "store/embedded/journal/verify.h"
#include "store/embedded/recount.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/temporary_directory.h"

namespace millrace::embedded {
namespace {

using test::must;
using test::StoreDriver;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t segment_size = 64U << 10U;

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    options_ = {.segment_size = segment_size,
                .cache_size = 2000,
                .warn = [this](std::string_view text) { warnings_.emplace_back(text); }};
  }
  std::unique_ptr<Disk> disk() {
    return std::move(open_directory(path_, DirectoryMode::existing).value());
  }

  Result<void> try_open() {
    store_.reset();
    ++options_.hash_seed;
    auto store = std::make_unique<JournalStore>(disk(), options_);
    auto opened = store->open();
    if (opened) store_ = std::move(store);
    return opened;
  }
  StoreDriver& open() {
    must(try_open());
    driver_.emplace(*store_);
    driver_->now = now_;
    return *driver_;
  }

  // Ends without the group that a closing journal writes, as after a crash of the process.
  void crash() {
    const std::string saved = path_ + "-saved";
    std::filesystem::copy(path_, saved);
    store_.reset();
    std::filesystem::remove_all(path_);
    std::filesystem::rename(saved, path_);
  }

  NewTask task(char fill = 'x', std::size_t size = 300) {
    return {.id = test::fresh_id(), .queue = "q", .payload = std::string(size, fill)};
  }

  // Puts and flushes one task after the other; returns the segment that the last of them began.
  std::uint64_t fill_segments() {
    open().make_queue("q");
    while (store_->log_end().segment < 3) {
      driver_->put(task('x', 1000));
      must(store_->flush());
    }
    return store_->log_end().segment;
  }

  std::string file(std::uint64_t segment) { return path_ + "/" + segment_name(segment); }
  void damage(const std::string& name, std::uint64_t offset) {
    std::fstream bytes(name, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(offset));
    const int byte = bytes.get();
    bytes.seekp(static_cast<std::streamoff>(offset));
    bytes.put(static_cast<char>(byte ^ 1));
  }
  std::size_t segments() {
    std::size_t count = 0;
    const auto entries = disk()->list().value();
    for (const auto& entry : entries) count += segment_number(entry.name) ? 1 : 0;
    return count;
  }

  test::TemporaryDirectory directory_;
  const std::string& path_ = directory_.path();
  JournalOptions options_;
  std::vector<std::string> warnings_;
  std::unique_ptr<JournalStore> store_;
  std::optional<StoreDriver> driver_;
  TimePoint now_ = test::t0;
};

TEST_F(JournalTest, a_task_is_there_after_a_restart_with_its_payload) {
  open().make_queue("q");
  const auto put = driver_->put(task('p', 5000));
  must(store_->flush());
  open();
  EXPECT_EQ(driver_->find(put.id).payload, std::string(5000, 'p'));
  EXPECT_THAT(recount(store_->state()), IsEmpty());
}

TEST_F(JournalTest, what_was_not_flushed_is_gone_after_a_crash_and_what_was_is_not) {
  open().make_queue("q");
  const auto flushed = driver_->put(task());
  must(store_->flush());
  const auto unflushed = driver_->put(task());
  crash();
  open();
  EXPECT_TRUE(driver_->exists(flushed.id));
  EXPECT_FALSE(driver_->exists(unflushed.id));
}

TEST_F(JournalTest, payloads_beyond_the_cache_are_read_back_from_disk) {
  open().make_queue("q");
  std::vector<Put> puts;
  for (char fill = 'a'; fill <= 'z'; ++fill) {
    puts.push_back(driver_->put(task(fill, 1000)));
    must(store_->flush());
  }
  EXPECT_LT(store_->state().blobs.used(), 5000U);
  for (const Lease& lease : driver_->take("q")) {
    EXPECT_EQ(lease.payload, std::string(1000, static_cast<char>('a' + lease.number.value - 1)));
  }
}

TEST_F(JournalTest, a_commit_larger_than_a_segment_is_divided_and_stays_one_commit) {
  open().make_queue("q");
  std::vector<NewTask> tasks;
  for (int i = 0; i < 300; ++i) tasks.push_back(task('x', 1000));
  driver_->put_all(tasks);
  must(store_->flush());
  EXPECT_GT(segments(), 4U);
  open();
  EXPECT_EQ(driver_->list({.queue = "q"}).size(), 300U);
  EXPECT_EQ(driver_->take("q", 1000).back().payload, std::string(1000, 'x'));
}

TEST_F(JournalTest, a_record_larger_than_a_segment_has_one_of_its_own) {
  open().make_queue("q");
  const auto small = driver_->put(task('a'));
  const auto large = driver_->put(task('b', 3 * segment_size));
  driver_->put(task('c'));
  must(store_->flush());
  open();
  EXPECT_EQ(driver_->find(small.id).payload, std::string(300, 'a'));
  EXPECT_EQ(driver_->find(large.id).payload, std::string(3 * segment_size, 'b'));
  EXPECT_EQ(driver_->list({.queue = "q"}).size(), 3U);
}

TEST_F(JournalTest, half_a_commit_does_not_count_wherever_it_was_cut) {
  open().make_queue("q");
  const auto before = driver_->put(task());
  must(store_->flush());
  std::vector<NewTask> tasks;
  for (int i = 0; i < 300; ++i) tasks.push_back(task('x', 1000));
  driver_->put_all(tasks);
  must(store_->flush());
  const auto end = store_->log_end();
  ASSERT_GT(end.segment, 4U);
  crash();
  damage(file(end.segment), end.offset - 10);
  open();
  EXPECT_EQ(test::ids_of(driver_->list({.queue = "q"})), std::vector{before.id});
  const auto after = driver_->put(task());
  must(store_->flush());
  crash();
  open();
  EXPECT_EQ(test::ids_of(driver_->list({.queue = "q"})), (std::vector{after.id, before.id}));
}

TEST_F(JournalTest, the_disk_stays_bounded_under_churn_although_one_task_never_finishes) {
  open().make_queue(
      {.name = "q", .id = Uuid{{1}}, .keep_completed = {.last = 0}, .keep_dead = {.last = 0}});
  NewTask old = task('o');
  old.priority = 0;
  const auto stays = driver_->put(old);
  std::size_t most = 0;
  for (int round = 0; round < 120; ++round) {
    for (int i = 0; i < 40; ++i) driver_->put(task());
    for (const Lease& lease : driver_->take("q", 40)) {
      driver_->settle({.id = lease.id, .expect = Held{lease.token}});
    }
    must(store_->flush());
    most = std::max(most, segments());
  }
  EXPECT_GT(store_->log_end().segment, 20U);
  EXPECT_LE(most, 6U);
  EXPECT_EQ(driver_->find(stays.id).payload, old.payload);
  open();
  EXPECT_EQ(driver_->find(stays.id).payload, old.payload);
  EXPECT_EQ(driver_->list({.queue = "q"}).size(), 1U);
}

TEST_F(JournalTest, cleaning_keeps_queues_schedules_memos_and_windows) {
  open().make_queue({.name = "q", .id = Uuid{{1}}, .keep_completed = {.last = 0}});
  driver_->make_queue("rare");
  must(store_->put_schedule(
      {.name = "s", .rule = {.every = std::chrono::seconds(1)}, .task = {.queue = "rare"}},
      PutSchedule::replace, now_));
  must(store_->remember({.key = "m", .value = "v"}, now_));
  NewTask windowed = task();
  windowed.queue = "rare";
  windowed.unique = UniqueKey{"k", UniqueScope::window, std::chrono::hours(24)};
  const auto holder = driver_->put(windowed);
  driver_->remove(holder.id);
  for (int round = 0; round < 1000; ++round) {
    const auto put = driver_->put(task('x', 1000));
    driver_->remove(put.id);
    if (round % 10 == 0) must(store_->flush());
  }
  EXPECT_FALSE(std::filesystem::exists(file(1)));
  open();
  EXPECT_EQ(must(store_->schedules("s")).size(), 1U);
  EXPECT_EQ(must(store_->recall({}, now_)).front().value, "v");
  windowed.id = test::fresh_id();
  EXPECT_TRUE(driver_->put(windowed).existing);
}

// ---- Damage -----------------------------------------------------------------------------------

TEST_F(JournalTest, a_torn_end_is_cut_and_said_so) {
  open().make_queue("q");
  const auto whole = driver_->put(task());
  must(store_->flush());
  const auto torn = driver_->put(task());
  must(store_->flush());
  const auto end = store_->log_end();
  crash();
  damage(file(end.segment), end.offset - 10);
  open();
  EXPECT_TRUE(driver_->exists(whole.id));
  EXPECT_FALSE(driver_->exists(torn.id));
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_THAT(warnings_[0], HasSubstr("0000000001.journal: cut "));
}

TEST_F(JournalTest, damage_that_is_no_torn_end_is_refused_with_file_and_offset) {
  open().make_queue("q");
  const auto at = store_->log_end();
  driver_->put(task());
  must(store_->flush());
  driver_->put(task());
  must(store_->flush());
  crash();
  damage(file(at.segment), at.offset + 100);
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  EXPECT_EQ(refused.error().message, "0000000001.journal at offset " + std::to_string(at.offset) +
                                         ": the group there is damaged");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(JournalTest, after_a_clean_end_even_the_last_group_is_guarded) {
  open().make_queue("q");
  const auto at = store_->log_end();
  driver_->put(task());
  must(store_->flush());
  store_.reset();
  damage(file(at.segment), at.offset + 100);
  EXPECT_EQ(try_open().error().code, ErrorCode::corrupt);
}

TEST_F(JournalTest, a_missing_segment_is_noticed) {
  open().make_queue("q");
  for (int i = 0; i < 300; ++i) driver_->put(task('x', 1000));
  must(store_->flush());
  store_.reset();
  std::filesystem::remove(file(2));
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  EXPECT_THAT(refused.error().message, HasSubstr("0000000002.journal is missing"));
}

TEST_F(JournalTest, a_last_segment_that_was_cut_off_is_refused_with_its_name) {
  for (const bool closed : {true, false}) {
    for (const std::uint64_t left : {std::uint64_t{0}, std::uint64_t{100}, segment_size - 1}) {
      SCOPED_TRACE(std::to_string(left) + (closed ? " after a clean end" : " after a crash"));
      open();
      driver_->make_queue("q" + std::to_string(store_->log_end().segment));
      must(store_->flush());
      const std::string last = file(store_->log_end().segment);
      closed ? store_.reset() : crash();
      std::filesystem::copy(last, path_ + "-last");
      std::filesystem::resize_file(last, left);
      const auto refused = try_open();
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
      EXPECT_THAT(refused.error().message,
                  HasSubstr(std::filesystem::path(last).filename().string() + " at offset " +
                            std::to_string(left) +
                            ": the file ends there, and segments of this "
                            "journal have 65536 bytes"));
      EXPECT_EQ(verify_journal(*disk(), nullptr).error().code, ErrorCode::corrupt);
      std::filesystem::rename(path_ + "-last", last);
    }
  }
}

TEST_F(JournalTest, a_missing_last_segment_is_noticed) {
  for (const bool closed : {true, false}) {
    SCOPED_TRACE(closed ? "after a clean end" : "after a crash");
    const auto left = must(disk()->list());
    for (const Disk::Entry& entry : left) must(disk()->remove(entry.name));
    const auto last = fill_segments();
    closed ? store_.reset() : crash();
    for (auto number = last; number >= 1; --number) {
      std::filesystem::remove(file(number));
      const auto refused = try_open();
      ASSERT_FALSE(refused) << number;
      EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
      EXPECT_THAT(refused.error().message, HasSubstr(segment_name(last) + " is missing"));
      EXPECT_EQ(verify_journal(*disk(), nullptr).error().code, ErrorCode::corrupt);
    }
  }
}

TEST_F(JournalTest, a_last_segment_that_is_empty_is_noticed_after_a_crash) {
  const auto last = fill_segments();
  crash();
  std::filesystem::resize_file(file(last), 0);
  std::filesystem::resize_file(file(last), segment_size);
  EXPECT_EQ(verify_journal(*disk(), nullptr).error().code, ErrorCode::corrupt);
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            segment_name(last) + " at offset 0: the beginning of the file is damaged");
}

TEST_F(JournalTest, the_end_of_a_closed_journal_is_not_taken_for_a_torn_one) {
  open().make_queue("q");
  const auto at = store_->log_end();
  driver_->put(task());
  store_.reset();
  std::filesystem::resize_file(file(at.segment), at.offset);
  std::filesystem::resize_file(file(at.segment), segment_size);
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  EXPECT_THAT(refused.error().message, HasSubstr("the log was closed at offset"));
}

TEST_F(JournalTest, the_file_that_names_the_last_segment_is_guarded_itself) {
  open().make_queue("q");
  store_.reset();
  damage(path_ + "/last", 9);
  EXPECT_THAT(try_open().error().message, HasSubstr("/last at offset 0: the file is damaged"));
  std::filesystem::remove(path_ + "/last");
  open();
}

// As it was written before there was a file `last`.
TEST_F(JournalTest, an_older_journal_is_opened_and_guarded_from_then_on) {
  open().make_queue("q");
  store_.reset();
  std::filesystem::remove(path_ + "/last");
  open();
  crash();
  EXPECT_TRUE(std::filesystem::exists(path_ + "/last"));
  std::filesystem::remove(file(2));
  EXPECT_THAT(try_open().error().message, HasSubstr("0000000002.journal is missing"));
}

TEST_F(JournalTest, another_size_of_segments_is_no_damage) {
  for (const std::size_t size : {segment_size, segment_size / 4, segment_size * 2}) {
    options_.segment_size = size;
    open();
    crash();
    open();
    store_.reset();
  }
}

TEST_F(JournalTest, damaged_payloads_are_never_served_and_fail_the_store) {
  open().make_queue("q");
  const auto at = store_->log_end();
  driver_->put(task('x', 1000));
  must(store_->flush());
  driver_->put(task('y', 5000));
  must(store_->flush());
  driver_->put(task('z', 5000));
  damage(file(at.segment), at.offset + 500);
  const auto taken = store_->work({}, {}, std::vector<TakeRequest>{{"w", {{"q", 1}}}}, now_);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::unavailable);
  EXPECT_THAT(taken.error().message, HasSubstr("the bytes of task number 1 are damaged"));
  EXPECT_EQ(store_->queues({}).error().code, ErrorCode::unavailable);
  EXPECT_EQ(store_->flush().error().code, ErrorCode::unavailable);
}

TEST_F(JournalTest, a_newer_format_is_refused_with_its_number) {
  open().make_queue("q");
  store_.reset();
  std::string head = segment_head();
  head[8] = 3;
  const std::uint32_t checksum = crc32c(0, std::string_view(head).substr(0, 12));
  std::memcpy(head.data() + 12, &checksum, sizeof(checksum));
  std::fstream(file(1), std::ios::in | std::ios::out | std::ios::binary) << head;
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_THAT(
      refused.error().message,
      HasSubstr("has format 3, and this program reads formats 1 to 2: it was written by a newer"));
}

// ---- Restarts ---------------------------------------------------------------------------------

TEST_F(JournalTest, a_second_process_is_refused) {
  open();
  JournalStore second(disk(), options_);
  const auto refused = second.open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("in use by another process"));
}

TEST_F(JournalTest, tokens_of_two_boots_differ) {
  open().make_queue("q");
  driver_->put(task());
  const auto first = driver_->take_one("q").token;
  crash();  // the take was never flushed
  must(try_open());
  driver_.emplace(*store_);
  driver_->make_queue("q");
  driver_->put(task());
  EXPECT_NE(driver_->take_one("q").token, first);
}

// C-11
TEST_F(JournalTest, leases_of_workers_inside_the_dead_process_are_overdue_at_once) {
  open().make_queue("q");
  driver_->put(task());
  driver_->put(task());
  const TakeRequest inside{.worker = std::string(local_worker) + "/1", .queues = {{"q", 1}}};
  const TakeRequest outside{.worker = "elsewhere", .queues = {{"q", 1}}};
  const auto lost = must(driver_->try_take(inside)).front();
  const auto kept = must(driver_->try_take(outside)).front();
  must(store_->flush());
  crash();
  open();
  EXPECT_THAT(test::ids_of(driver_->due()), ::testing::ElementsAre(lost.id));
  driver_->now -= std::chrono::hours(1);
  EXPECT_THAT(test::ids_of(driver_->due()), ::testing::ElementsAre(lost.id)) << "set back";
  // Workers elsewhere may come back; this one cannot.
  driver_->now += std::chrono::hours(2);
  EXPECT_THAT(test::ids_of(must(store_->due(driver_->now, {.leases = false}))),
              ::testing::ElementsAre(lost.id));
  driver_->now -= std::chrono::hours(1);
  EXPECT_EQ(driver_->settle({.id = kept.id, .expect = Held{kept.token}}), TaskState::completed);
  crash();
  open();
  EXPECT_THAT(test::ids_of(driver_->due()), ::testing::ElementsAre(lost.id));
}

TEST_F(JournalTest, a_directory_that_cannot_be_written_is_refused_with_the_reason) {
  JournalStore store(must(open_directory("/proc/self", DirectoryMode::existing)), options_);
  const auto refused = store.open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("/proc/self/lock: cannot open: "), 0U);
}

TEST_F(JournalTest, sizes_that_are_not_possible_are_refused) {
  options_.segment_size = 100;
  EXPECT_EQ(try_open().error().message,
            "a segment of 100 bytes is not possible; it must have 4096 to 67108864");
}

TEST_F(JournalTest, read_only_shows_everything_and_changes_nothing) {
  open().make_queue("q");
  const auto put = driver_->put(task());
  store_.reset();
  options_.read_only = true;
  open();
  EXPECT_TRUE(driver_->exists(put.id));
  const auto refused = driver_->try_put(task());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("open for reading only"));
  EXPECT_EQ(segments(), 1U);
}

TEST_F(JournalTest, opening_shows_its_progress) {
  open().make_queue("q");
  for (int i = 0; i < 300; ++i) driver_->put(task('x', 1000));
  store_.reset();
  std::vector<std::uint64_t> done;
  std::uint64_t all = 0;
  options_.progress = [&](std::uint64_t bytes, std::uint64_t total) {
    done.push_back(bytes);
    all = total;
  };
  open();
  EXPECT_GT(done.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_LE(done.back(), all);
}

// ---- Verify -----------------------------------------------------------------------------------

TEST_F(JournalTest, verify_counts_what_is_there_and_changes_nothing) {
  open().make_queue("q");
  for (int i = 0; i < 300; ++i) driver_->put(task('x', 1000));
  must(store_->remember({.key = "m", .value = "v"}, now_));
  EXPECT_EQ(verify_journal(*disk(), nullptr).error().code, ErrorCode::conflict);
  store_.reset();
  const auto report = must(verify_journal(*disk(), nullptr));
  EXPECT_EQ(report.tasks, 300U);
  EXPECT_EQ(report.queues, 1U);
  EXPECT_EQ(report.memos, 1U);
  EXPECT_EQ(report.segments, segments());
  EXPECT_GT(report.bytes, 300'000U);
  EXPECT_EQ(report.torn, 0U);
  EXPECT_THAT(report.differences, IsEmpty());
}

TEST_F(JournalTest, verify_names_damage_and_an_empty_directory) {
  EXPECT_EQ(verify_journal(*disk(), nullptr).error().code, ErrorCode::not_found);
  open().make_queue("q");
  const auto at = store_->log_end();
  driver_->put(task());
  store_.reset();
  damage(file(at.segment), at.offset + 60);
  const auto refused = verify_journal(*disk(), nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace millrace::embedded
