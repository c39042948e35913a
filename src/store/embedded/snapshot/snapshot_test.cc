#include "store/embedded/snapshot/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "disk/real_disk.h"
#include "store/embedded/snapshot/snapshot_file.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace millrace::embedded {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::IsOk;
using test::must;
using test::StoreDriver;
using test::t0;
using test::task;
using ::testing::AllOf;
using ::testing::HasSubstr;

// What happens to the calls that change a disk.
struct Fate {
  int calls = 0;
  int fail_from = 0;  // the first that fails; 0: none
  int renames = 0;
};

// A real directory whose changes can be counted and made to fail.
class WatchedDisk final : public Disk {
 public:
  WatchedDisk(std::unique_ptr<Disk> disk, Fate& fate) : disk_(std::move(disk)), fate_(fate) {}

  std::string path() const override { return disk_->path(); }
  Result<void> lock(bool shared) override { return disk_->lock(shared); }
  Result<std::vector<Entry>> list() override { return disk_->list(); }
  Result<File> open(std::string_view name, Access access) override {
    if (access != Access::read && is_refused()) return refusal();
    return disk_->open(name, access);
  }
  void close(File file) override { disk_->close(file); }
  Result<void> allocate(File file, std::uint64_t size) override {
    return disk_->allocate(file, size);
  }
  // Half of the bytes arrive when the write fails.
  Result<void> write(File file, std::uint64_t offset, std::string_view bytes) override {
    if (!is_refused()) return disk_->write(file, offset, bytes);
    auto half = disk_->write(file, offset, bytes.substr(0, bytes.size() / 2));
    return half ? refusal() : half;
  }
  Result<std::size_t> read(File file, std::uint64_t offset, std::span<char> into) override {
    return disk_->read(file, offset, into);
  }
  Result<void> sync(File file) override {
    if (is_refused()) return refusal();
    return disk_->sync(file);
  }
  Result<void> sync_directory() override {
    if (is_refused()) return refusal();
    return disk_->sync_directory();
  }
  Result<void> rename(std::string_view from, std::string_view to) override {
    if (is_refused()) return refusal();
    ++fate_.renames;
    return disk_->rename(from, to);
  }
  Result<void> remove(std::string_view name) override {
    if (is_refused()) return refusal();
    return disk_->remove(name);
  }

 private:
  bool is_refused() { return ++fate_.calls >= fate_.fail_from && fate_.fail_from != 0; }
  static std::unexpected<Error> refusal() { return fail(ErrorCode::limited, "the disk is full"); }

  std::unique_ptr<Disk> disk_;
  Fate& fate_;
};

class SnapshotTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Store>> try_open(SnapshotOptions options = {}) {
    store_.reset();
    auto disk = open_directory(directory_, DirectoryMode::existing).value();
    return open_memory_with_snapshot(std::make_unique<WatchedDisk>(std::move(disk), fate_), "tasks",
                                     std::move(options));
  }
  StoreDriver open(SnapshotOptions options = {}) {
    store_ = must(try_open(std::move(options)));
    return StoreDriver(*store_);
  }
  // Leaves the disk as a crash does: nothing is written any more, whatever the destructor tries.
  void crash() {
    fate_.fail_from = 1;
    store_.reset();
    fate_ = {};
  }

  std::string read_file() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write_file(const std::string& bytes) const {
    std::ofstream(file_, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }

  Fate fate_;
  test::TemporaryDirectory temporary_;
  const std::string& directory_ = temporary_.path();
  const std::string file_ = temporary_ / "tasks";
  std::unique_ptr<Store> store_;
};

// ---- Saving and loading ------------------------------------------------------------------------

// S0-077
TEST_F(SnapshotTest, a_missing_file_is_an_empty_store) {
  open();
  EXPECT_TRUE(must(store_->queues(std::nullopt)).empty());
  EXPECT_TRUE(std::filesystem::exists(file_)) << "whether it can be written is known at once";
}

// S0-070, S0-076
TEST_F(SnapshotTest, tasks_survive_closing_and_opening) {
  auto driver = open();
  driver.make_queue("q");
  driver.one_in_each_state("q");
  driver.pass(2min);
  driver.settle(test::lost(driver.due_one(), driver.now));  // no lease survives
  must(store_->remember({.key = "k", .value = "v"}, t0));
  const std::string before = test::dump(*store_, t0);
  open();
  EXPECT_EQ(test::dump(*store_, t0), before);
}

// S0-078
TEST_F(SnapshotTest, is_saved_at_most_once_a_second_and_only_while_something_changes) {
  auto driver = open();
  fate_ = {};
  driver.make_queue("q");
  for (int i = 0; i < 50; ++i) {  // five seconds
    driver.put(task("q"));
    driver.pass(100ms);
    driver.advance();
    must(store_->flush());
  }
  EXPECT_EQ(fate_.renames, 5);
  driver.pass(1h);
  driver.advance();
  must(store_->flush());
  fate_ = {};
  for (int i = 0; i < 50; ++i) {
    driver.pass(1s);
    driver.take("q");
    driver.advance();
    must(store_->flush());
    if (i == 0) fate_ = {};  // the take took them all
  }
  EXPECT_EQ(fate_.renames, 0);
  store_.reset();
  EXPECT_EQ(fate_.renames, 0) << "there was nothing left to save";
}

// C-30: the loss window is the interval, and what was saved survives.
TEST_F(SnapshotTest, a_crash_loses_what_came_after_the_last_snapshot_and_nothing_else) {
  auto driver = open();
  driver.make_queue("q");
  const TaskId saved = driver.put(task("q")).id;
  driver.advance();
  must(store_->flush());
  const TaskId lost = driver.put(task("q")).id;
  driver.pass(999ms);
  driver.advance();
  must(store_->flush());
  crash();
  driver = open();
  EXPECT_TRUE(driver.exists(saved));
  EXPECT_FALSE(driver.exists(lost));
}

TEST_F(SnapshotTest, a_clock_that_is_set_back_does_not_put_saving_off) {
  auto driver = open();
  driver.make_queue("q");
  driver.advance();
  driver.pass(-1h);
  driver.put(task("q"));
  fate_ = {};
  driver.advance();
  must(store_->flush());
  EXPECT_EQ(fate_.renames, 1);
}

TEST_F(SnapshotTest, a_token_that_a_crash_forgot_is_never_given_out_again) {
  auto driver = open();
  driver.make_queue("q");
  driver.put(task("q"));
  driver.advance();
  must(store_->flush());
  const Lease forgotten = driver.take_one("q");
  crash();
  driver = open();
  const Lease lease = driver.take_one("q");
  EXPECT_EQ(lease.id, forgotten.id);
  EXPECT_NE(lease.token, forgotten.token);
  EXPECT_THAT(driver.try_settle(test::done(forgotten)), FailsWith(ErrorCode::lease_lost));
  EXPECT_EQ(driver.settle(test::done(lease)), TaskState::completed);
}

// D-07: a task that ran is in its queue again, and the worker that ran it settles nothing any more.
TEST_F(SnapshotTest, tasks_that_were_running_are_queued_again_at_their_old_place) {
  auto driver = open();
  driver.make_queue("q");
  driver.put_all({task("q"), task("q")});
  const Lease lease = driver.take_one("q");
  driver = open();
  EXPECT_EQ(driver.state_of(lease.id), TaskState::queued);
  EXPECT_THAT(driver.try_settle(test::done(lease)), FailsWith(ErrorCode::lease_lost));
  const Lease again = driver.take_one("q");
  EXPECT_EQ(again.id, lease.id);
  EXPECT_NE(again.token, lease.token);
}

TEST_F(SnapshotTest, keeps_others_out) {
  open();
  auto disk = open_directory(directory_, DirectoryMode::existing).value();
  EXPECT_THAT(open_memory_with_snapshot(std::move(disk), "tasks", {}),
              FailsWith(ErrorCode::conflict, HasSubstr("in use by another process")));
}

TEST_F(SnapshotTest, opened_to_be_read_changes_nothing) {
  open().make_queue("q");
  store_.reset();
  const std::string before = read_file();
  auto driver = open({.read_only = true});
  EXPECT_EQ(driver.find_queue("q").settings.name, "q");
  EXPECT_THAT(store_->flush(), IsOk());
  driver.put(task("q"));
  EXPECT_THAT(store_->flush(), FailsWith(ErrorCode::conflict, HasSubstr("reading only")));
  store_.reset();
  EXPECT_EQ(read_file(), before);
}

// ---- Damage ------------------------------------------------------------------------------------

TEST_F(SnapshotTest, every_damaged_byte_and_every_cut_is_noticed) {
  open().make_queue("q");
  store_.reset();
  const std::string good = read_file();
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    EXPECT_THAT(snapshot_from(bytes), FailsWith(ErrorCode::corrupt)) << at;
    EXPECT_THAT(snapshot_from(good.substr(0, at)), FailsWith(ErrorCode::corrupt)) << at;
  }
  EXPECT_THAT(snapshot_from(good + "x"), FailsWith(ErrorCode::corrupt));
  EXPECT_THAT(snapshot_from(good), IsOk());
}

// S0-077 asks for a logged error and an empty queue; but an empty store would replace the file a
// second later, and every task in it would be lost.
TEST_F(SnapshotTest, a_damaged_file_is_an_error_that_names_it_and_it_stays_as_it_is) {
  open().make_queue("q");
  store_.reset();
  const std::string bad = read_file() + "more";
  write_file(bad);
  EXPECT_THAT(try_open(),
              FailsWith(ErrorCode::corrupt,
                        AllOf(HasSubstr(file_), HasSubstr("cut off"), HasSubstr("move it away"))));
  EXPECT_EQ(read_file(), bad);
}

TEST_F(SnapshotTest, a_file_of_another_kind_is_distinguished_from_a_damaged_one) {
  write_file("{\"queues\":{}}");
  EXPECT_THAT(try_open(), FailsWith(ErrorCode::corrupt, HasSubstr("millrace import")));
  write_file("");
  EXPECT_THAT(try_open(), FailsWith(ErrorCode::corrupt, HasSubstr("cut off")));
  std::string newer = snapshot_bytes(1, "");
  newer[8] = 3;
  write_file(newer);
  EXPECT_THAT(try_open(), FailsWith(ErrorCode::corrupt, HasSubstr("format 3")));
  write_file(snapshot_bytes(1, "nonsense"));
  EXPECT_THAT(try_open(), FailsWith(ErrorCode::corrupt, HasSubstr("report")));
}

// ---- A disk that fails -------------------------------------------------------------------------

TEST_F(SnapshotTest, wherever_writing_fails_the_old_or_the_new_state_is_there) {
  for (int call = 1; call <= 7; ++call) {
    std::filesystem::remove(file_);
    auto driver = open();
    driver.make_queue("old");
    driver.advance();
    must(store_->flush());
    driver.make_queue("new");
    driver.pass(1s);
    driver.advance();
    fate_ = {.fail_from = call};
    const auto flushed = store_->flush();
    EXPECT_EQ(flushed.has_value(), call > 6) << call;
    crash();
    driver = open();
    EXPECT_THAT(store_->queues("old"), IsOk()) << call;
    EXPECT_TRUE(!flushed || store_->queues("new")) << call;
  }
}

TEST_F(SnapshotTest, a_disk_that_was_full_is_tried_again) {
  std::vector<std::string> warnings;
  auto driver = open({.warn = [&](std::string_view text) { warnings.emplace_back(text); }});
  driver.make_queue("q");
  driver.advance();
  fate_ = {.fail_from = 1};
  EXPECT_THAT(store_->flush(), FailsWith(ErrorCode::limited));
  EXPECT_THAT(store_->flush(), FailsWith(ErrorCode::limited));
  EXPECT_EQ(warnings.size(), 1U);
  fate_ = {};
  EXPECT_THAT(store_->flush(), IsOk());
  crash();
  EXPECT_EQ(open().find_queue("q").settings.name, "q");
}

TEST_F(SnapshotTest, a_directory_that_cannot_be_written_is_refused_when_it_is_opened) {
  fate_ = {.fail_from = 1};
  EXPECT_THAT(try_open(), FailsWith(ErrorCode::limited));
}

TEST_F(SnapshotTest, changes_that_cannot_be_saved_at_the_end_are_reported) {
  std::vector<std::string> warnings;
  auto driver = open({.warn = [&](std::string_view text) { warnings.emplace_back(text); }});
  driver.make_queue("q");
  crash();
  EXPECT_THAT(warnings, ::testing::Contains(HasSubstr("the last changes are lost")));
}

}  // namespace
}  // namespace millrace::embedded
