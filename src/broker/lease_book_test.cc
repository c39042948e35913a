#include "broker/lease_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/builders.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Lease lease(std::uint64_t token, Lease fields = {}) {
  fields.id = fresh_id();
  fields.token = {token};
  fields.queue = "q";
  return fields;
}

TEST(LeaseBook, remembers_what_a_decision_needs_until_the_lease_ends) {
  LeaseBook book;
  const Lease given = lease(7, {.type = "t",
                                .counters = {.deliveries = 2, .retries = 1},
                                .max_lost = 5,
                                .retry = RetryRules{.max_retries = 9},
                                .callback = Callback{.url = "http://x"},
                                .request_id = "r"});
  LeaseBook::Writing writing(book);
  writing.taken("w", given, t0);
  const LeaseNote* note = writing.find(given.id, given.token);
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(note->queue, "q");
  EXPECT_EQ(note->type, "t");
  EXPECT_EQ(note->counters, given.counters);
  EXPECT_EQ(note->extras->callback, given.callback);
  EXPECT_EQ(note->extras->request_id, "r");
  EXPECT_EQ(lease_of(*note).retry, given.retry);
  EXPECT_EQ(lease_of(*note).max_lost, given.max_lost);
  writing.ended(given.token, true, t0);
  EXPECT_EQ(writing.find(given.id, given.token), nullptr);
}

TEST(LeaseBook, a_token_is_good_for_its_own_task_only) {
  LeaseBook book;
  LeaseBook::Writing writing(book);
  writing.taken("w", lease(7), t0);
  EXPECT_EQ(writing.find(fresh_id(), {7}), nullptr);
}

TEST(LeaseBook, forgets_the_oldest_beyond_its_bound) {
  LeaseBook book({.notes = 100});
  std::vector<Lease> leases;
  for (std::uint64_t i = 1; i <= 5000; ++i) {
    leases.push_back(lease(i));
    LeaseBook::Writing writing(book);
    writing.taken("w", leases.back(), t0);
    if (i % 3 == 0) writing.ended({i}, true, t0);
  }
  EXPECT_EQ(book.size(), 100U);
  LeaseBook::Writing writing(book);
  EXPECT_EQ(writing.find(leases[0].id, {1}), nullptr);
  EXPECT_NE(writing.find(leases[4999].id, {5000}), nullptr);
}

TEST(LeaseBook, knows_who_holds_what) {
  LeaseBook book;
  const Lease a = lease(1);
  const Lease b = lease(2);
  const Lease c = lease(3);
  {
    LeaseBook::Writing writing(book);
    writing.asked("w", {"q", "r"}, t0);
    for (const Lease& each : {a, b, c}) writing.taken("w", each, t0 + 1s);
    writing.ended(b.token, true, t0 + 2s);
    writing.ended(c.token, false, t0 + 3s);
  }
  const auto workers = book.workers();
  ASSERT_THAT(workers, SizeIs(1));
  EXPECT_EQ(workers[0].name, "w");
  EXPECT_THAT(workers[0].queues, ElementsAre("q", "r"));
  EXPECT_EQ(workers[0].first_seen, t0);
  EXPECT_EQ(workers[0].last_seen, t0 + 2s);
  EXPECT_EQ(workers[0].taken, 3U);
  EXPECT_EQ(workers[0].settled, 1U);
  EXPECT_EQ(workers[0].holding, 1U);
  EXPECT_THAT(workers[0].tasks, ElementsAre(a.id));
}

TEST(LeaseBook, tells_what_each_is_doing_since_when_and_until_when) {
  LeaseBook book;
  const Lease a = lease(1, {.until = t0 + 60s, .type = "t", .started_at = t0});
  const Lease b = lease(2, {.until = t0 + 70s, .started_at = t0 + 10s});
  {
    LeaseBook::Writing writing(book);
    for (const Lease& each : {a, b}) writing.taken("w", each, t0);
    writing.extended(a.token, t0 + 90s, t0 + 30s);
  }
  EXPECT_THAT(
      book.workers()[0].running,
      ElementsAre(HeldTask{.id = b.id, .queue = "q", .since = t0 + 10s, .until = t0 + 70s},
                  HeldTask{.id = a.id, .queue = "q", .type = "t", .since = t0, .until = t0 + 90s}));
  EXPECT_THAT(book.workers(false)[0].running, IsEmpty());
}

TEST(LeaseBook, lists_100_tasks_of_a_worker_at_most_and_describes_5000_of_all) {
  LeaseBook book;
  for (std::uint64_t i = 1; i <= 150; ++i) LeaseBook::Writing(book).taken("w", lease(i), t0);
  EXPECT_EQ(book.workers()[0].holding, 150U);
  EXPECT_THAT(book.workers()[0].tasks, SizeIs(100));
  EXPECT_THAT(book.workers()[0].running, SizeIs(100));
  for (std::uint64_t i = 1; i <= 6000; ++i) {
    LeaseBook::Writing(book).taken("x" + std::to_string(i % 60), lease(1000 + i), t0);
  }
  std::size_t described = 0;
  for (const WorkerView& worker : book.workers()) described += worker.running.size();
  EXPECT_EQ(described, 5000U);
}

TEST(LeaseBook, workers_with_ever_new_names_push_out_the_idle_and_never_those_that_hold) {
  LeaseBook book({.workers = 10});
  LeaseBook::Writing(book).taken("busy", lease(1), t0);
  for (int i = 0; i < 1000; ++i) {
    LeaseBook::Writing(book).asked("w" + std::to_string(i), {"q"}, t0 + i * 1s);
  }
  const auto workers = book.workers();
  EXPECT_THAT(workers, SizeIs(10));
  EXPECT_EQ(workers.front().name, "busy");
  EXPECT_EQ(workers.back().name, "w999");
}

TEST(LeaseBook, where_all_places_are_taken_leases_are_remembered_without_their_worker) {
  LeaseBook book({.workers = 1});
  const Lease second = lease(2);
  LeaseBook::Writing writing(book);
  writing.taken("busy", lease(1), t0);
  writing.taken("other", second, t0);
  EXPECT_NE(writing.find(second.id, {2}), nullptr);
  writing.ended({2}, true, t0);
}

TEST(LeaseBook, keeps_the_last_report_of_each_worker_within_bounds) {
  LeaseBook book({.workers = 3, .reports = 4});
  const auto report = [&](std::string worker, std::size_t queues, TimePoint at) {
    return LeaseBook::Writing(book).reported(
        {.worker = std::move(worker), .queues = std::vector<QueueReport>(queues)}, at);
  };
  EXPECT_TRUE(report("a", 2, t0));
  EXPECT_TRUE(report("a", 2, t0 + Duration(1)));  // instead of the first
  EXPECT_TRUE(report("b", 2, t0 + Duration(2)));
  EXPECT_FALSE(report("c", 1, t0 + Duration(3)));  // no room for more
  EXPECT_THAT(book.reports(t0), SizeIs(2));
  EXPECT_THAT(book.reports(t0 + Duration(2)), SizeIs(1));
  EXPECT_THAT(book.reports(t0 + Duration(3)), SizeIs(0));
  // Forgetting a worker makes room.
  EXPECT_TRUE(report("d", 2, t0 + Duration(4)));
  EXPECT_THAT(book.reports(t0), SizeIs(2));
  EXPECT_FALSE(report("b", 3, t0 + Duration(5)));  // the old report is out of date
  EXPECT_THAT(book.reports(t0), SizeIs(1));
}

}  // namespace
}  // namespace millrace
