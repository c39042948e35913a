// Faults that do harm only together, and coincide too rarely by chance.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "store/embedded/journal/journal.h"
#include "store/store.h"
#include "tests/random/dice.h"
#include "tests/sim/sim_disk.h"
#include "tests/support/driver.h"

namespace millrace::test {
namespace {

class TwoFaults : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Store>> open() { return open_on(machine_); }
  Result<std::unique_ptr<Store>> open_on(SimDisk& machine) {
    return open_journal(machine.attach(),
                        {.segment_size = 16U << 10U, .cache_size = 1000, .hash_seed = ++boots_});
  }

  // Ends the process, each time in another way.
  static void restart_by(SimDisk& machine, std::unique_ptr<Store>& store, int turn) {
    if (turn % 3 == 0) {
      machine.crash(static_cast<std::uint64_t>(turn));
      machine.restart();
    } else if (turn % 3 == 1) {
      machine.kill();
    }
    store.reset();
  }

  // Puts until the store fails or has filled some segments; remembers what was acknowledged.
  void put_some(Store& store) {
    StoreDriver driver(store);
    const auto made = store.put_queue(queue("q"), PutQueue::create, t0);
    if (!made) return;
    for (int i = 0; i < 80; ++i) {
      const NewTask one = task("q", {.payload = std::string(500, 'x')});
      if (!store.put({&one, 1}, t0) || !store.flush()) return;
      acknowledged_.push_back(one.id);
    }
  }

  // Puts and removes, so that segments are cleaned and freed.
  static void churn(Store& store) {
    if (!store.put_queue(queue("q"), PutQueue::create, t0)) return;
    for (int i = 0; i < 200; ++i) {
      const NewTask one = task("q", {.payload = std::string(500, 'x')});
      if (!store.put({&one, 1}, t0) || !store.remove({&one.id, 1}, t0) || !store.flush()) return;
    }
  }

  // Works on what exists until the store refuses that as well.
  void use_up(Store& store) {
    for (int i = 0; i < 2000; ++i) {
      const TaskUpdate note{.id = acknowledged_.front(), .delivery_attempt = std::string(900, 's')};
      if (!store.update({&note, 1}, t0) || !store.flush()) return;
    }
  }

  void expect_everything_acknowledged() {
    auto store = open();
    ASSERT_TRUE(store) << store.error().message;
    for (const TaskId& id : acknowledged_) ASSERT_TRUE(find_task(**store, id));
  }

  SimDisk machine_;
  std::uint64_t boots_ = 0;
  std::vector<TaskId> acknowledged_;
};

// More was applied than a full disk has room for: it waits in memory, and nothing has failed.
TEST_F(TwoFaults, a_flush_that_lacks_space_is_made_up_for_by_a_later_one) {
  auto store = std::move(*open());
  StoreDriver driver(*store);
  driver.make_queue("q");
  std::vector<TaskUpdate> notes(300);
  for (TaskUpdate& note : notes) {
    note.id = driver.put(task("q", {.held = true})).id;
    note.delivery_attempt = std::string(200, 's');
  }
  must(store->flush());
  machine_.set_capacity(machine_.used());
  must(store->update(notes, t0));
  const auto waits = store->flush();
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().code, ErrorCode::limited);
  EXPECT_TRUE(store->queues({})) << "the store has not failed";
  EXPECT_EQ(driver.try_put(task("q")).error().code, ErrorCode::limited);
  machine_.set_capacity(SimDisk::unlimited);
  must(store->flush());
  driver.put(task("q"));
  machine_.crash(1);
  machine_.restart();
  auto again = std::move(*open());
  EXPECT_EQ(must(find_task(*again, notes.back().id)).delivery,
            (DeliveryNote{.attempts = 1, .last_status = *notes.back().delivery_attempt}));
}

// The name of the newest segment is visible, but not on disk; then another one is begun.
TEST_F(TwoFaults, names_that_were_not_synced_are_before_the_next_segment_begins) {
  for (std::uint64_t sync = 1; sync <= 4; ++sync) {
    for (std::uint64_t call = 1; call <= 12; ++call) {
      SCOPED_TRACE("sync of names " + std::to_string(sync) + ", then call " + std::to_string(call));
      machine_.plan_failure(DiskCall::sync_directory, sync, ErrorCode::unavailable);
      if (auto store = open()) put_some(**store);
      machine_.forget_plans();
      machine_.plan_crash(call, 17 * sync + call);
      if (auto store = open()) put_some(**store);
      machine_.forget_plans();
      if (!machine_.down()) machine_.crash(call);
      machine_.restart();
      expect_everything_acknowledged();
      if (HasFatalFailure()) return;
    }
  }
}

// The name of the newest segment is visible, but not on disk, and that segment says that an older
// one is unneeded. Then the power goes while the older one is removed.
TEST_F(TwoFaults, a_segment_is_removed_only_when_the_name_that_makes_it_unneeded_is_on_disk) {
  for (std::uint64_t sync = 1; sync <= 12; ++sync) {
    for (std::uint64_t call = 1; call <= 8; ++call) {
      SCOPED_TRACE("sync of names " + std::to_string(sync) + ", then call " + std::to_string(call));
      SimDisk machine;
      const auto open = [&] {
        return open_journal(
            machine.attach(),
            {.sync = SyncMode::none, .segment_size = 8U << 10U, .hash_seed = ++boots_});
      };
      machine.plan_failure(DiskCall::sync_directory, 2 + sync, ErrorCode::unavailable);
      if (auto store = open()) churn(**store);
      machine.forget_plans();
      machine.kill();
      machine.plan_crash(call, 31 * sync + call);
      std::ignore = open();
      machine.forget_plans();
      if (!machine.down()) machine.crash(call);
      machine.restart();
      const auto again = open();
      ASSERT_TRUE(again) << again.error().message;
    }
  }
}

// Whatever the reserve was used for, the next process can begin, and so can those after it.
TEST_F(TwoFaults, a_journal_on_a_full_disk_is_opened_again_and_again) {
  for (const bool used_up : {false, true}) {
    acknowledged_.clear();
    SimDisk machine;
    auto store = std::move(*open_on(machine));
    put_some(*store);
    machine.set_capacity(machine.used());
    if (used_up) use_up(*store);
    std::set<TaskId> held;
    for (int restart = 1; restart <= 12; ++restart) {
      SCOPED_TRACE("restart " + std::to_string(restart) + (used_up ? ", no reserve" : ""));
      restart_by(machine, store, restart);
      auto again = open_on(machine);
      ASSERT_TRUE(again) << again.error().message;
      store = std::move(*again);
      for (const TaskId& id : acknowledged_) ASSERT_TRUE(find_task(*store, id));
      const NewTask one = task("q");
      const auto refused = store->put({&one, 1}, t0);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::limited);
      if (used_up) continue;
      const auto lease = StoreDriver(*store).take_one("q");
      EXPECT_TRUE(held.insert(lease.id).second) << "a lease was forgotten";
      must(store->flush());
    }
    machine.set_capacity(SimDisk::unlimited);
    must(store->flush());
    StoreDriver(*store).put(task("q"));
  }
}

// Not even the file `last`, which an older journal does not have, takes space from the reserve.
TEST_F(TwoFaults, an_older_journal_on_a_full_disk_is_opened_again_and_again) {
  auto store = std::move(*open());
  put_some(*store);
  machine_.set_capacity(machine_.used());
  use_up(*store);
  machine_.kill();
  machine_.lose("last");
  machine_.set_capacity(machine_.used());
  for (int restart = 1; restart <= 6; ++restart) {
    auto again = open();
    ASSERT_TRUE(again) << "restart " << restart << ": " << again.error().message;
    machine_.kill();
  }
  machine_.set_capacity(SimDisk::unlimited);
  expect_everything_acknowledged();
}

// The power goes at each disk call of an opening that begins the last segment again.
TEST_F(TwoFaults, an_opening_on_a_full_disk_may_be_cut_short_anywhere) {
  for (std::uint64_t call = 1; call <= 20; ++call) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE("call " + std::to_string(call) + ", seed " + std::to_string(seed));
      acknowledged_.clear();
      SimDisk machine;
      auto store = std::move(*open_on(machine));
      put_some(*store);
      machine.set_capacity(machine.used());
      machine.kill();
      store = std::move(*open_on(machine));
      machine.kill();
      machine.plan_crash(call, seed);
      std::ignore = open_on(machine);
      machine.forget_plans();
      if (!machine.down()) machine.crash(seed);
      machine.restart();
      for (int restart = 1; restart <= 3; ++restart) {
        auto again = open_on(machine);
        ASSERT_TRUE(again) << again.error().message;
        for (const TaskId& id : acknowledged_) ASSERT_TRUE(find_task(**again, id));
        machine.kill();
      }
    }
  }
}

// And so may those after it: what an opening frees is there for the next one, whatever of its
// changes is on disk, although the file `last`, which an older journal does not have, takes space.
TEST_F(TwoFaults, many_openings_in_a_row_on_a_full_disk_may_be_cut_short_anywhere) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    SimDisk machine;
    auto store = std::move(*open_on(machine));
    put_some(*store);
    machine.set_capacity(machine.used());
    use_up(*store);
    machine.kill();
    machine.lose("last");
    machine.set_capacity(machine.used());
    for (int opening = 0; opening < 6; ++opening) {
      machine.plan_crash(dice.between(1U, 16U), seed + static_cast<std::uint64_t>(opening));
      std::ignore = open_on(machine);
      machine.forget_plans();
      if (!machine.down()) dice.percent(50) ? machine.kill() : machine.crash(seed);
      machine.restart();
    }
    const auto again = open_on(machine);
    ASSERT_TRUE(again) << again.error().message;
    for (const TaskId& id : acknowledged_) ASSERT_TRUE(find_task(**again, id));
    acknowledged_.clear();
  }
}

// A commit that is larger than what a full disk has room for was begun in several segments.
TEST_F(TwoFaults, half_a_commit_on_a_full_disk_does_not_count_after_a_restart) {
  auto store = std::move(*open());
  StoreDriver driver(*store);
  driver.make_queue("q");
  std::vector<TaskUpdate> notes(300);
  for (TaskUpdate& note : notes) {
    note.id = driver.put(task("q", {.held = true})).id;
    note.delivery_attempt = std::string(200, 's');
  }
  must(store->flush());
  machine_.set_capacity(machine_.used());
  must(store->update(notes, t0));
  ASSERT_FALSE(store->flush());
  for (int restart = 1; restart <= 4; ++restart) {
    machine_.kill();
    auto again = open();
    ASSERT_TRUE(again) << restart << ": " << again.error().message;
    store = std::move(*again);
    for (const TaskUpdate& note : notes) EXPECT_FALSE(must(find_task(*store, note.id)).delivery);
  }
}

// Some file systems need space even to rename a file.
TEST_F(TwoFaults, a_rename_that_lacks_space_is_made_up_for_by_a_later_flush) {
  for (std::uint64_t nth = 1; nth <= 20; ++nth) {
    SCOPED_TRACE("rename " + std::to_string(nth));
    SimDisk machine;
    auto store = std::move(*open_on(machine));
    StoreDriver driver(*store);
    driver.make_queue("q");
    machine.plan_failure(DiskCall::rename, nth, ErrorCode::limited);
    for (int i = 0; i < 400; ++i) {
      const TaskId id = driver.put(task("q", {.payload = std::string(500, 'x')})).id;
      driver.remove(id);
      const auto flushed = store->flush();
      if (flushed) continue;
      ASSERT_EQ(flushed.error().code, ErrorCode::limited) << flushed.error().message;
      must(store->flush());
    }
    EXPECT_TRUE(machine.failed()) << "there was no such rename";
    EXPECT_LE(machine.files().size(), 10U) << "segments were not freed";
    store.reset();
    EXPECT_TRUE(open_on(machine));
  }
}

// A file system that copies what it writes lacks space although the segment is allocated.
TEST_F(TwoFaults, a_write_that_lacks_space_is_made_up_for_by_a_later_flush) {
  for (std::uint64_t write = 1; write <= 60; ++write) {
    SCOPED_TRACE("write " + std::to_string(write));
    auto store = std::move(*open());
    StoreDriver driver(*store);
    driver.make_queue("q" + std::to_string(write));
    machine_.plan_failure(DiskCall::write, write, ErrorCode::limited);
    for (int i = 0; i < 60; ++i) {
      const NewTask one = task("q" + std::to_string(write), {.payload = std::string(500, 'x')});
      must(store->put({&one, 1}, t0));
      const auto flushed = store->flush();
      if (!flushed) {
        ASSERT_EQ(flushed.error().code, ErrorCode::limited) << flushed.error().message;
        must(store->flush());
      }
      acknowledged_.push_back(one.id);
    }
    machine_.forget_plans();
    machine_.crash(write);
    machine_.restart();
    store.reset();
    expect_everything_acknowledged();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace millrace::test
