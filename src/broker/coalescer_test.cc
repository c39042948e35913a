#include "broker/coalescer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>

#include "broker/blocking.h"
#include "store/store.h"
#include "tests/support/rounds_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Counts events; waits for one, but not forever.
class Signal {
 public:
  void give() {
    const std::scoped_lock lock(mutex_);
    ++count_;
    changed_.notify_one();
  }
  bool try_take(Duration limit = {}) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, limit, [&] { return count_ > 0; })) return false;
    --count_;
    return true;
  }
  void take(Where where = Where::current()) {
    if (!try_take(30s)) give_up("waited in vain", where);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// A store that ends the test if two threads are in it, and whose flush can be made to wait.
class GuardedStore : public RecordingStore {
 public:
  std::atomic<bool> gated = false;
  Signal flush_began;
  Signal may_end;
  std::atomic<bool> flush_fails = false;
  std::atomic<int> flushes_without_space = 0;
  std::atomic<bool> puts_gated = false;
  Signal put_began;
  Signal may_put;
  std::atomic<int> puts = 0;

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
    const Inside inside(busy_);
    ++puts;
    if (puts_gated) {
      put_began.give();
      may_put.take();
    }
    calls.clear();
    return RecordingStore::put(tasks, now);
  }
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override {
    const Inside inside(busy_);
    return RecordingStore::work(settlements, extensions, takes, now);
  }
  Result<std::vector<std::string>> ready(TimePoint now) override {
    const Inside inside(busy_);
    return RecordingStore::ready(now);
  }
  Result<void> flush() override {
    const Inside inside(flushing_);
    if (gated) {
      flush_began.give();
      may_end.take();
    }
    if (flush_fails) return fail(ErrorCode::unavailable, "disk on fire");
    if (flushes_without_space > 0) {
      --flushes_without_space;
      return fail(ErrorCode::limited, "no space");
    }
    return {};
  }

 private:
  class Inside {
   public:
    explicit Inside(std::atomic<bool>& busy) : busy_(busy) {
      if (busy_.exchange(true)) std::abort();
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { busy_ = false; }

   private:
    std::atomic<bool>& busy_;
  };
  std::atomic<bool> busy_ = false;
  std::atomic<bool> flushing_ = false;
};

class CoalescerTest : public ::testing::Test {
 protected:
  CoalescerTest() { StoreDriver(store_).make_queue("q"); }

  void expect_deadlines_while_a_flush_hangs(const CoalescerOptions& options);
  Coalescer& start(const CoalescerOptions& options = {}) {
    coalescer_ = std::make_unique<Coalescer>(clock_, store_, options);
    return *coalescer_;
  }

  // Answers that arrive on other threads.
  template <class T>
  class Mailbox {
   public:
    Completion<T> completion() {
      return [this](Result<T> result) {
        answer_ = std::move(result);
        arrived_.give();
      };
    }
    const Result<T>& get(Where where = Where::current()) {
      if (!has_arrived_) arrived_.take(where);
      has_arrived_ = true;
      return *answer_;
    }
    bool empty() { return !(has_arrived_ = has_arrived_ || arrived_.try_take()); }

   private:
    Signal arrived_;
    bool has_arrived_ = false;
    std::optional<Result<T>> answer_;
  };
  using PutBox = Mailbox<std::vector<Result<Put>>>;

  Ticket put(PutBox& box, std::uint64_t caller = 1, TimePoint deadline = never) {
    return coalescer_->put({caller}, {task("q")}, deadline, box.completion());
  }
  Ticket take(Mailbox<WorkResult>& box, Duration wait, std::uint64_t caller = 1) {
    return coalescer_->work(
        {caller},
        {.takes = {{.worker = "w", .queues = {{"q", 1}}}}, .wait_until = clock_.now() + wait},
        never, box.completion());
  }
  // Waits until its round is flushed, so that the next flush covers another request.
  void park(Mailbox<WorkResult>& box) {
    take(box, 1h);
    while (coalescer_->stats().rounds.parked == 0) std::this_thread::yield();
    while (coalescer_->stats().flush_seconds.count == 0) std::this_thread::yield();
  }

  ManualClock clock_{t0};
  GuardedStore store_;
  std::unique_ptr<Coalescer> coalescer_;  // destroyed first
};

TEST_F(CoalescerTest, a_single_request_is_answered) {
  start();
  PutBox box;
  put(box);
  EXPECT_THAT(box.get(), IsOkAndHolds(SizeIs(1)));
  EXPECT_EQ(coalescer_->stats().rounds.requests, 1);
  EXPECT_EQ(coalescer_->stats().flush_seconds.count, 1);
}

TEST_F(CoalescerTest, the_next_round_is_applied_while_a_flush_runs_and_answered_by_the_next_one) {
  start({.company = 1});
  store_.gated = true;
  PutBox first;
  put(first, 1);
  store_.flush_began.take();
  PutBox second;
  put(second, 2);
  while (store_.puts < 2) std::this_thread::yield();
  EXPECT_TRUE(first.empty() && second.empty());
  store_.may_end.give();
  EXPECT_THAT(first.get(), IsOk());
  store_.flush_began.take();
  EXPECT_TRUE(second.empty());
  store_.may_end.give();
  EXPECT_THAT(second.get(), IsOk());
}

TEST_F(CoalescerTest, while_a_flush_runs_requests_wait_for_company) {
  start({.company = 3});
  store_.gated = true;
  std::vector<PutBox> boxes(4);
  put(boxes[0], 0);
  store_.flush_began.take();
  for (std::size_t i = 1; i < boxes.size(); ++i) put(boxes[i], i);
  while (store_.puts < 2) std::this_thread::yield();
  EXPECT_EQ(coalescer_->stats().rounds.rounds, 2U) << "each went alone";
  store_.gated = false;
  store_.may_end.give();
  for (PutBox& box : boxes) EXPECT_THAT(box.get(), IsOk());
}

TEST_F(CoalescerTest, without_company_a_request_is_applied_when_the_flush_ends) {
  start({.company = 3});
  store_.gated = true;
  PutBox first;
  put(first, 1);
  store_.flush_began.take();
  PutBox second;
  put(second, 2);
  store_.may_end.give();
  EXPECT_THAT(first.get(), IsOk());
  store_.flush_began.take();
  store_.may_end.give();
  EXPECT_THAT(second.get(), IsOk());
}

TEST_F(CoalescerTest, not_more_than_so_much_is_applied_ahead_of_a_flush) {
  start({.ahead_items = 3, .company = 1});
  store_.gated = true;
  std::vector<PutBox> boxes(6);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    put(boxes[i], i);
    if (i == 0) store_.flush_began.take();
    // One round each, as long as rounds are applied.
    while (i < 3 && store_.puts < static_cast<int>(i) + 1) std::this_thread::yield();
  }
  EXPECT_EQ(store_.puts, 3);
  EXPECT_EQ(coalescer_->stats().rounds.waiting, 3);
  store_.gated = false;
  store_.may_end.give();
  for (PutBox& box : boxes) EXPECT_THAT(box.get(), IsOk());
}

TEST_F(CoalescerTest, deadlines_are_kept_even_while_a_flush_hangs_and_there_is_no_room) {
  expect_deadlines_while_a_flush_hangs({.ahead_items = 1});
}

TEST_F(CoalescerTest, deadlines_are_kept_even_while_a_flush_hangs_and_there_is_no_company) {
  expect_deadlines_while_a_flush_hangs({});
}

void CoalescerTest::expect_deadlines_while_a_flush_hangs(const CoalescerOptions& options) {
  start(options);
  store_.gated = true;
  PutBox applied;
  put(applied);
  store_.flush_began.take();
  PutBox late;
  put(late, 2, t0 + 1s);
  EXPECT_TRUE(late.empty());
  clock_.advance(1s);
  EXPECT_THAT(late.get(), FailsWith(ErrorCode::unavailable));
  store_.gated = false;
  store_.may_end.give();
  EXPECT_THAT(applied.get(), IsOk());
}

TEST_F(CoalescerTest, a_waiting_take_is_answered_by_the_put_that_feeds_it) {
  start();
  Mailbox<WorkResult> taken;
  take(taken, 1h);
  PutBox box;
  put(box, 2);
  EXPECT_THAT(box.get(), IsOk());
  ASSERT_THAT(taken.get(), IsOk());
  EXPECT_THAT(*taken.get()->taken.front(), SizeIs(1));
}

TEST_F(CoalescerTest, a_waiting_take_is_answered_empty_when_its_time_is_over) {
  start();
  Mailbox<WorkResult> taken;
  take(taken, 1s);
  clock_.advance(1s);
  ASSERT_THAT(taken.get(), IsOk());
  EXPECT_THAT(*taken.get()->taken.front(), IsEmpty());
}

TEST_F(CoalescerTest, a_lease_whose_caller_leaves_is_given_back) {
  start();
  const auto id = (*put_now(*coalescer_, {1}, {task("q")}, never))[0]->id;
  store_.gated = true;
  Mailbox<WorkResult> taken;
  take(taken, 1h, 2);
  store_.flush_began.take();
  coalescer_->leave({2});
  store_.gated = false;
  store_.may_end.give();
  const auto again = work_now(
      *coalescer_, {3},
      {.takes = {{.worker = "w", .queues = {{"q", 1}}}}, .wait_until = clock_.now() + 1h}, never);
  EXPECT_EQ((*again->taken.front())[0].id, id);
  EXPECT_TRUE(taken.empty());
}

TEST_F(CoalescerTest, a_give_back_needs_no_other_request) {
  StoreDriver(store_).put(task("q"));
  start();
  store_.gated = true;
  Mailbox<WorkResult> taken;
  take(taken, {});
  store_.flush_began.take();
  while (coalescer_->stats().rounds.held == 0) std::this_thread::yield();
  coalescer_->leave({1});
  store_.may_end.give();
  store_.flush_began.take();
  store_.may_end.give();
  coalescer_->stop();
  EXPECT_EQ(StoreDriver(store_).counts("q").of(TaskState::queued), 1);
}

TEST_F(CoalescerTest, requests_come_in_while_a_round_is_applied) {
  start();
  store_.puts_gated = true;
  PutBox first;
  put(first);
  store_.put_began.take();
  PutBox second;
  put(second, 2);
  EXPECT_EQ(coalescer_->stats().rounds.waiting, 1);
  store_.puts_gated = false;
  store_.may_put.give();
  EXPECT_THAT(first.get(), IsOk());
  EXPECT_THAT(second.get(), IsOk());
}

TEST_F(CoalescerTest, a_cancelled_request_is_not_answered) {
  start({.ahead_items = 1});
  store_.gated = true;
  PutBox applied;
  put(applied);
  store_.flush_began.take();
  PutBox dropped;
  coalescer_->cancel(put(dropped, 2));
  store_.gated = false;
  store_.may_end.give();
  EXPECT_THAT(applied.get(), IsOk());
  coalescer_->stop();
  EXPECT_TRUE(dropped.empty());
}

TEST_F(CoalescerTest, stopping_answers_every_caller) {
  start({.ahead_items = 1});
  Mailbox<WorkResult> parked;
  park(parked);
  store_.gated = true;
  PutBox applied;
  coalescer_->put({2}, {task("nowhere")}, never, applied.completion());
  store_.flush_began.take();
  PutBox waiting;
  put(waiting, 3);
  std::thread stopper([&] { coalescer_->stop(); });
  EXPECT_THAT(waiting.get(), FailsWith(ErrorCode::unavailable));
  PutBox refused;
  put(refused, 4);
  EXPECT_THAT(refused.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_TRUE(applied.empty());
  store_.gated = false;
  store_.may_end.give();
  stopper.join();
  EXPECT_THAT(applied.get(), IsOk());
  EXPECT_THAT(parked.get(), FailsWith(ErrorCode::unavailable));
  coalescer_->stop();
}

TEST_F(CoalescerTest, leases_answered_while_stopping_can_be_given_back) {
  StoreDriver(store_).put(task("q"));
  start();
  store_.gated = true;
  coalescer_->work({1}, {.takes = {{.worker = "w", .queues = {{"q", 1}}}}}, never,
                   [&](Result<WorkResult> result) {
                     // Time for threads that would end too early.
                     Signal().try_take(20ms);
                     coalescer_->give_back(*result);
                   });
  store_.flush_began.take();
  store_.gated = false;
  store_.may_end.give();
  coalescer_->stop();
  EXPECT_EQ(StoreDriver(store_).counts("q").of(TaskState::queued), 1);
}

TEST_F(CoalescerTest, after_a_failed_flush_every_caller_learns_the_cause) {
  start();
  Mailbox<WorkResult> parked;
  park(parked);
  store_.flush_fails = true;
  PutBox box;
  coalescer_->put({2}, {task("nowhere")}, never, box.completion());
  EXPECT_THAT(box.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(box.get().error().message, HasSubstr("disk on fire"));
  EXPECT_THAT(parked.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(put_now(*coalescer_, {3}, {task("q")}, never), FailsWith(ErrorCode::unavailable));
}

// A bad sector under one task must not end the others.
TEST_F(CoalescerTest, a_call_whose_read_failed_alone_does_not_fail_the_store) {
  start();
  Mailbox<void> read;
  coalescer_->call<void>(
      {1},
      [](Store&, TimePoint) -> Result<void> {
        return std::unexpected(Error{ErrorCode::unavailable, "a bad sector", 1s});
      },
      never, read.completion());
  EXPECT_THAT(read.get(), FailsWith(ErrorCode::unavailable, HasSubstr("a bad sector")));
  PutBox box;
  put(box);
  EXPECT_THAT(box.get(), IsOkAndHolds(SizeIs(1)));
  EXPECT_EQ(coalescer_->failure(), std::nullopt);
}

TEST_F(CoalescerTest, a_flush_that_lacks_space_is_tried_again_until_it_does_not) {
  store_.flushes_without_space = 3;
  start();
  const auto answer = put_now(*coalescer_, {1}, {task("q")}, never);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(store_.flushes_without_space, 0);
}

TEST_F(CoalescerTest, stopping_does_not_wait_for_space) {
  store_.flushes_without_space = 1'000'000;
  start();
  Mailbox<std::vector<Result<Put>>> answer;
  coalescer_->put({1}, {task("q")}, never, answer.completion());
  coalescer_->stop();
  EXPECT_EQ(answer.get().error().code, ErrorCode::unavailable);
}

TEST_F(CoalescerTest, a_blocked_caller_that_leaves_is_not_left_waiting) {
  start({.ahead_items = 1});
  store_.gated = true;
  PutBox applied;
  put(applied);
  store_.flush_began.take();
  std::thread blocked([&] {
    EXPECT_THAT(put_now(*coalescer_, {2}, {task("q")}, never), FailsWith(ErrorCode::unavailable));
  });
  while (coalescer_->stats().rounds.waiting == 0) std::this_thread::yield();
  coalescer_->leave({2});
  blocked.join();
  store_.gated = false;
  store_.may_end.give();
  EXPECT_THAT(applied.get(), IsOk());
}

TEST_F(CoalescerTest, a_completion_may_ask_again) {
  start();
  PutBox second;
  coalescer_->put({1}, {task("q")}, never, [&](auto first) {
    EXPECT_THAT(first, IsOk());
    put(second);
  });
  EXPECT_THAT(second.get(), IsOk());
}

TEST_F(CoalescerTest, an_idle_store_that_syncs_at_intervals_is_flushed_in_time) {
  store_.pretended.durability = Durability::interval;
  store_.pretended.loss_window = 10ms;
  store_.gated = true;
  SystemClock clock;
  Coalescer coalescer(clock, store_);
  for (int i = 0; i < 3; ++i) {
    store_.flush_began.take();
    store_.may_end.give();
  }
  store_.gated = false;
  store_.may_end.give();
}

// ---- Many callers ------------------------------------------------------------------------------

// Puts, takes, settles, and now and then leaves with a take on its way.
class BusyCaller {
 public:
  BusyCaller(Coalescer& coalescer, std::uint64_t number) : coalescer_(coalescer), number_(number) {}

  void run(int times) {
    for (int i = 0; i < times; ++i) {
      CallerId self = coalescer_.new_caller();
      EXPECT_THAT(put_now(coalescer_, self, {task("q")}, never), IsOk());
      if ((i + static_cast<int>(number_)) % 5 == 0) {
        take_and_leave(self);
        self = coalescer_.new_caller();
      }
      finish_one(self);
      EXPECT_THAT(
          call_now<Task>(
              coalescer_, self,
              [](Store& store, TimePoint) { return find_task(store, TaskNumber{1}); }, never),
          IsOk());
    }
  }

  std::atomic<int> finished = 0;

 private:
  void take_and_leave(CallerId self) {
    // Like a session that finds its connection closed.
    coalescer_.work(self, {.takes = {some()}}, never, [this](Result<WorkResult> result) {
      if (result) coalescer_.give_back(*result);
    });
    coalescer_.leave(self);
  }

  void finish_one(CallerId self) {
    for (;;) {
      const auto taken =
          work_now(coalescer_, self, {.takes = {some()}, .wait_until = t0 + 1h}, never);
      ASSERT_THAT(taken, IsOk());
      const std::vector<Lease>& leases = *taken->taken.front();
      if (leases.empty()) continue;
      std::vector<Settlement> ends;
      for (const Lease& lease : leases) ends.push_back(done(lease));
      const auto settled = work_now(coalescer_, self, {.settlements = ends}, never);
      ASSERT_THAT(settled, IsOk());
      for (const auto& one : settled->settled) EXPECT_THAT(one, IsOk());
      finished += static_cast<int>(ends.size());
      return;
    }
  }

  TakeRequest some() const { return {.worker = "w", .queues = {{"q", 1}}}; }

  Coalescer& coalescer_;
  std::uint64_t number_;
};

TEST_F(CoalescerTest, many_callers_lose_nothing_and_do_nothing_twice) {
  constexpr int callers = 64;
  constexpr int times = 20;
  auto settings = queue("q");
  settings.keep_completed = {};
  StoreDriver(store_).make_queue(settings);
  Coalescer& coalescer = start({.ahead_items = 20});
  std::vector<std::unique_ptr<BusyCaller>> busy;
  std::vector<std::thread> threads;
  std::latch go(1);
  for (std::uint64_t i = 0; i < callers; ++i) {
    busy.push_back(std::make_unique<BusyCaller>(coalescer, i));
    threads.emplace_back([&, caller = busy.back().get()] {
      go.wait();
      caller->run(times);
    });
  }
  go.count_down();
  for (std::thread& thread : threads) thread.join();
  coalescer.stop();
  int finished = 0;
  for (const auto& caller : busy) finished += caller->finished;
  EXPECT_EQ(finished, callers * times);
  const QueueCounts counts = StoreDriver(store_).counts("q");
  EXPECT_EQ(counts.of(TaskState::completed), callers * times);
  EXPECT_EQ(counts.of(TaskState::processing), 0);
  EXPECT_EQ(counts.of(TaskState::queued), 0);
}

}  // namespace
}  // namespace millrace
