// The simulated disk keeps every promise that disk.h makes, and no other.
#include "tests/sim/sim_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace millrace::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t seeds = 500;

std::string read_file(Disk& disk, const std::string& name) {
  const auto file = disk.open(name, Disk::Access::read);
  if (!file) return "(no such file)";
  std::string bytes(10'000, '\0');
  bytes.resize(read_all(disk, *file, 0, bytes).value());
  disk.close(*file);
  return bytes;
}

// A durable file with these bytes in it.
void make_file(SimDisk& machine, const std::string& name, const std::string& bytes) {
  const auto disk = machine.attach();
  const auto file = disk->open(name, Disk::Access::create).value();
  ASSERT_TRUE(disk->write(file, 0, bytes));
  ASSERT_TRUE(disk->sync(file));
  ASSERT_TRUE(disk->sync_directory());
}

// What `name` may hold after a crash, over many seeds, if `prepare` ran before it.
std::set<std::string> outcomes(const std::string& name, const auto& prepare) {
  std::set<std::string> found;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SimDisk machine;
    make_file(machine, "a", "old");
    const auto disk = machine.attach();
    prepare(machine, *disk);
    if (!machine.down()) machine.crash(seed);
    machine.restart();
    found.insert(read_file(*machine.attach(), name));
  }
  return found;
}

Disk::File open_to_write(Disk& disk, const std::string& name = "a") {
  return disk.open(name, Disk::Access::write).value();
}

TEST(SimDisk, bytes_are_read_back_before_they_are_durable) {
  SimDisk machine;
  const auto disk = machine.attach();
  const auto file = disk->open("a", Disk::Access::create).value();
  ASSERT_TRUE(disk->write(file, 0, "hello, mill"));
  ASSERT_TRUE(disk->write(file, 7, "race"));
  EXPECT_EQ(read_file(*disk, "a"), "hello, race");
  EXPECT_EQ(machine.contents("a"), "hello, race");
}

TEST(SimDisk, what_was_synced_survives_every_crash) {
  EXPECT_EQ(outcomes("a",
                     [](SimDisk& /*machine*/, Disk& disk) {
                       const auto file = open_to_write(disk);
                       ASSERT_TRUE(disk.write(file, 0, "new"));
                       ASSERT_TRUE(disk.sync(file));
                     }),
            std::set<std::string>{"new"});
}

TEST(SimDisk, a_write_that_was_not_synced_is_kept_lost_or_torn) {
  const auto found = outcomes("a", [](SimDisk& /*machine*/, Disk& disk) {
    ASSERT_TRUE(disk.write(open_to_write(disk), 0, "NEW"));
  });
  EXPECT_THAT(found, ::testing::IsSupersetOf({"old", "NEW", "Nld", "NEd", "oEW", "olW"}));
}

TEST(SimDisk, a_long_write_is_torn_by_sectors) {
  const std::string page(4 * SimDisk::sector, 'x');
  bool hole = false;
  for (const auto& bytes : outcomes("a", [&](SimDisk& /*machine*/, Disk& disk) {
         ASSERT_TRUE(disk.write(open_to_write(disk), 0, page));
       })) {
    const auto zero = bytes.find('\0');
    hole |= zero != std::string::npos && bytes.find('x', zero) != std::string::npos;
  }
  EXPECT_TRUE(hole) << "some sectors are kept although earlier ones are lost";
}

TEST(SimDisk, of_two_writes_to_one_place_either_may_win) {
  const auto found = outcomes("a", [](SimDisk& /*machine*/, Disk& disk) {
    const auto file = open_to_write(disk);
    ASSERT_TRUE(disk.write(file, 0, "ONE"));
    ASSERT_TRUE(disk.write(file, 0, "TWO"));
  });
  EXPECT_THAT(found, ::testing::IsSupersetOf({"old", "ONE", "TWO", "TNE"}));
}

TEST(SimDisk, a_new_name_is_there_for_good_only_after_a_sync_of_the_directory) {
  const auto create = [](SimDisk& /*machine*/, Disk& disk) {
    const auto file = disk.open("b", Disk::Access::create).value();
    ASSERT_TRUE(disk.write(file, 0, "b"));
    ASSERT_TRUE(disk.sync(file));
  };
  EXPECT_EQ(outcomes("b", create), (std::set<std::string>{"(no such file)", "b"}));
  EXPECT_EQ(outcomes("b",
                     [&](SimDisk& machine, Disk& disk) {
                       create(machine, disk);
                       ASSERT_TRUE(disk.sync_directory());
                     }),
            std::set<std::string>{"b"});
}

TEST(SimDisk, a_removed_file_may_come_back_and_a_rename_may_not_have_been) {
  EXPECT_EQ(outcomes("a", [](SimDisk& /*machine*/, Disk& disk) { ASSERT_TRUE(disk.remove("a")); }),
            (std::set<std::string>{"(no such file)", "old"}));
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SimDisk machine;
    make_file(machine, "a", "old");
    make_file(machine, "b", "target");
    ASSERT_TRUE(machine.attach()->rename("a", "b"));
    machine.crash(seed);
    machine.restart();
    const auto disk = machine.attach();
    const bool done = read_file(*disk, "b") == "old";
    EXPECT_EQ(read_file(*disk, "a"), done ? "(no such file)" : "old");
    EXPECT_EQ(read_file(*disk, "b"), done ? "old" : "target");
  }
}

TEST(SimDisk, unsynced_names_are_kept_or_lost_each_for_itself) {
  std::set<std::size_t> counts;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SimDisk machine;
    const auto disk = machine.attach();
    for (const auto* name : {"1", "2", "3"}) std::ignore = disk->open(name, Disk::Access::create);
    machine.crash(seed);
    counts.insert(machine.files().size());
  }
  EXPECT_EQ(counts, (std::set<std::size_t>{0, 1, 2, 3}));
}

TEST(SimDisk, a_failed_sync_leaves_its_bytes_in_doubt_whatever_comes_after) {
  const auto found = outcomes("a", [](SimDisk& machine, Disk& disk) {
    const auto file = open_to_write(disk);
    ASSERT_TRUE(disk.write(file, 0, "NEW"));
    machine.plan_failure(DiskCall::sync, 1, ErrorCode::unavailable);
    const auto synced = disk.sync(file);
    ASSERT_FALSE(synced);
    EXPECT_EQ(synced.error().code, ErrorCode::unavailable);
    EXPECT_THAT(synced.error().message, HasSubstr("sim/a: cannot sync: Input/output error"));
    EXPECT_TRUE(machine.failed());
    EXPECT_EQ(read_file(disk, "a"), "NEW") << "visible until the crash";
    ASSERT_TRUE(disk.write(file, 3, "!"));
    ASSERT_TRUE(disk.sync(file)) << "the error is reported once";
  });
  EXPECT_THAT(found, Contains("old!"));
  EXPECT_THAT(found, Contains("NEW!"));
  EXPECT_THAT(found, Not(Contains("old")));
}

TEST(SimDisk, bytes_written_again_after_a_failed_sync_are_durable_once_synced) {
  const auto found = outcomes("a", [](SimDisk& machine, Disk& disk) {
    const auto file = open_to_write(disk);
    ASSERT_TRUE(disk.write(file, 0, "ABC"));
    machine.plan_failure(DiskCall::sync, 1, ErrorCode::unavailable);
    ASSERT_FALSE(disk.sync(file));
    ASSERT_TRUE(disk.write(file, 1, "x"));
    ASSERT_TRUE(disk.sync(file));
  });
  for (const auto& bytes : found) EXPECT_EQ(bytes[1], 'x') << bytes;
}

TEST(SimDisk, a_crash_comes_in_the_planned_call_and_ends_every_process) {
  SimDisk machine;
  make_file(machine, "a", "old");
  const auto disk = machine.attach();
  ASSERT_TRUE(disk->lock(false));
  const auto file = open_to_write(*disk);
  machine.plan_crash(2, 1);
  EXPECT_TRUE(disk->write(file, 0, "x"));
  EXPECT_EQ(read_file(*disk, "a"), "xld") << "reading brings the crash no nearer";
  EXPECT_FALSE(disk->sync(file));
  EXPECT_TRUE(machine.down());
  machine.restart();
  EXPECT_EQ(disk->write(file, 0, "y").error().code, ErrorCode::unavailable) << "it is dead";
  disk->close(file);
  EXPECT_TRUE(machine.attach()->lock(false)) << "the lock went with its owner";
}

TEST(SimDisk, a_write_in_which_the_power_goes_may_be_torn) {
  std::uint64_t seed = 0;
  const auto found = outcomes("a", [&](SimDisk& machine, Disk& disk) {
    machine.plan_crash(1, ++seed);
    EXPECT_FALSE(disk.write(open_to_write(disk), 0, "NEW"));
  });
  EXPECT_THAT(found, ::testing::IsSupersetOf({"old", "NEW", "NEd"}));
}

TEST(SimDisk, a_killed_process_loses_its_lock_and_nothing_else) {
  SimDisk machine;
  const auto disk = machine.attach();
  ASSERT_TRUE(disk->lock(false));
  ASSERT_TRUE(disk->write(disk->open("a", Disk::Access::create).value(), 0, "unsynced"));
  EXPECT_EQ(machine.attach()->lock(true).error().code, ErrorCode::conflict);
  machine.kill();
  EXPECT_FALSE(disk->list());
  const auto next = machine.attach();
  EXPECT_TRUE(next->lock(false));
  EXPECT_EQ(read_file(*next, "a"), "unsynced");
}

TEST(SimDisk, a_full_disk_refuses_growth_and_nothing_else) {
  SimDisk machine;
  make_file(machine, "a", "old");
  machine.set_capacity(10);
  const auto disk = machine.attach();
  const auto file = open_to_write(*disk);
  const auto refused = disk->allocate(file, 11);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limited);
  EXPECT_THAT(refused.error().message, HasSubstr("No space left on device"));
  ASSERT_TRUE(disk->allocate(file, 8));
  EXPECT_EQ(machine.used(), 8U);
  EXPECT_TRUE(disk->write(file, 0, "12345678"));
  EXPECT_EQ(disk->write(file, 4, "5678901").error().code, ErrorCode::limited);
  EXPECT_EQ(read_file(*disk, "a"), "1234567890") << "as much of it as there is space for";
  disk->close(file);
  ASSERT_TRUE(disk->remove("a"));
  EXPECT_EQ(machine.used(), 10U) << "the removal is not durable yet";
  ASSERT_TRUE(disk->sync_directory());
  EXPECT_EQ(machine.used(), 0U);
}

TEST(SimDisk, planned_failures_hit_the_call_they_are_meant_for) {
  SimDisk machine;
  make_file(machine, "a", "old");
  const auto disk = machine.attach();
  const auto file = open_to_write(*disk);
  machine.plan_failure(DiskCall::write, 2, ErrorCode::limited);
  EXPECT_TRUE(disk->write(file, 0, "1"));
  EXPECT_TRUE(disk->sync(file));
  EXPECT_FALSE(machine.failed());
  EXPECT_EQ(disk->write(file, 0, "2").error().code, ErrorCode::limited);
  EXPECT_TRUE(machine.failed());
  EXPECT_TRUE(disk->write(file, 0, "3"));
  machine.plan_failure(3, ErrorCode::unavailable);
  EXPECT_TRUE(disk->list());
  EXPECT_TRUE(disk->sync(file));
  EXPECT_FALSE(disk->sync_directory());
  machine.plan_failure(DiskCall::read, 1, ErrorCode::unavailable);
  std::string byte(1, '\0');
  EXPECT_FALSE(disk->read(file, 0, byte));
  EXPECT_TRUE(disk->read(file, 0, byte));
}

TEST(SimDisk, reads_may_be_short_but_never_empty_before_the_end) {
  SimDisk machine;
  make_file(machine, "a", std::string(100, 'x'));
  machine.shorten_reads(true);
  const auto disk = machine.attach();
  const auto file = disk->open("a", Disk::Access::read).value();
  std::set<std::size_t> lengths;
  std::string bytes(100, '\0');
  for (int i = 0; i < 100; ++i) lengths.insert(disk->read(file, 0, bytes).value());
  EXPECT_GT(lengths.size(), 5U);
  EXPECT_THAT(lengths, Not(Contains(0U)));
  EXPECT_EQ(read_file(*disk, "a"), std::string(100, 'x')) << "read_all bears it";
}

TEST(SimDisk, a_flipped_bit_stays_flipped) {
  SimDisk machine;
  make_file(machine, "a", "old");
  EXPECT_TRUE(machine.flip("a", 1, 0));
  EXPECT_FALSE(machine.flip("a", 3, 0));
  EXPECT_FALSE(machine.flip("b", 0, 0));
  EXPECT_EQ(machine.contents("a"), "omd");
  machine.crash(1);
  EXPECT_EQ(machine.contents("a"), "omd");
}

TEST(SimDisk, an_unlinked_file_lives_while_it_is_open_and_a_copy_is_another_machine) {
  SimDisk machine;
  make_file(machine, "a", "old");
  const SimDisk copy(machine);
  const auto disk = machine.attach();
  const auto file = open_to_write(*disk);
  ASSERT_TRUE(disk->remove("a"));
  std::string bytes(3, '\0');
  EXPECT_EQ(read_all(*disk, file, 0, bytes).value(), 3U);
  EXPECT_EQ(bytes, "old");
  disk->close(file);
  EXPECT_EQ(copy.contents("a"), "old");
  EXPECT_EQ(machine.contents("a"), "");
}

TEST(SimDisk, what_an_allocation_promised_ends_with_a_crash_that_loses_it) {
  bool lost = false;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SimDisk machine;
    make_file(machine, "a", "old");
    const auto disk = machine.attach();
    ASSERT_TRUE(disk->allocate(open_to_write(*disk), 1000));
    machine.crash(seed);
    lost |= machine.contents("a").size() == 3;
  }
  EXPECT_TRUE(lost);
}

}  // namespace
}  // namespace millrace::test
