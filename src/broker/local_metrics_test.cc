// What LocalBroker shows to clients that watch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "broker/local_broker.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::SizeIs;

MetricsSnapshot metrics_of(BrokerDriver& d) {
  return must(
      d.wait<MetricsSnapshot>([&](auto done) { d.broker->metrics(d.ask(), std::move(done)); }));
}

TEST(LocalMetrics, a_scrape_sees_queues_workers_and_leases) {
  BrokerDriver d;
  d.put({.queue = "q"});
  d.put({.queue = "q"});
  d.take_one("q");
  const MetricsSnapshot seen = metrics_of(d);
  EXPECT_TRUE(is_internal(seen.queues.front().queue.settings.name));
  EXPECT_EQ(seen.queues.back().queue.settings.name, "q");
  EXPECT_EQ(seen.queues.back().stats.put, 2U);
  EXPECT_EQ(seen.queues.back().counts.ready(), 1U);
  EXPECT_EQ(seen.workers.seen, 1U);
  EXPECT_EQ(seen.workers.holding, 1U);
  EXPECT_EQ(seen.leases, 1U);
  EXPECT_EQ(seen.at, d.now());
  EXPECT_EQ(seen.traits.name, d.store->traits().name);
  EXPECT_FALSE(seen.failure);
}

// One task from put to its end: waits this long, runs this long.
void life(BrokerDriver& d, NewTask task, Duration waits, Duration runs, Outcome outcome = Done{}) {
  const QueueRef queue = task.queue;
  d.put(std::move(task));
  d.pass(waits);
  const Lease lease = d.take_one(queue);
  d.pass(runs);
  d.settle(lease, std::move(outcome));
}

TypeMetrics type_in(const MetricsSnapshot& seen, const std::string& queue,
                    const std::string& type) {
  for (const TypeMetrics& metrics : seen.types) {
    if (metrics.queue == queue && metrics.type == type) return metrics;
  }
  ADD_FAILURE() << "no metrics of " << queue << " " << type;
  return {};
}

// S2-044, S0-184
TEST(LocalMetrics, a_scrape_tells_how_many_of_a_type_ended_how_and_how_long_they_took) {
  BrokerDriver d;
  life(d, {.queue = "q", .type = "t"}, 2s, 1s);
  life(d, {.queue = "q", .type = "t"}, 0s, 3s);
  life(d, {.queue = "q", .type = "t"}, 0s, 8s, Failed{error("no"), false});
  life(d, {.queue = "q", .type = "u"}, 0s, 20s);
  const MetricsSnapshot seen = metrics_of(d);
  ASSERT_THAT(seen.types, SizeIs(2));
  const TypeMetrics metrics = type_in(seen, "q", "t");
  EXPECT_EQ(metrics.put, 3U);
  EXPECT_EQ(metrics.taken, 3U);
  EXPECT_EQ(metrics.completed, 2U);
  EXPECT_EQ(metrics.failed, 1U);
  EXPECT_EQ(metrics.waiting.count, 3U);
  EXPECT_DOUBLE_EQ(metrics.waiting.sum, 2);
  EXPECT_EQ(metrics.running.count, 3U);
  EXPECT_DOUBLE_EQ(metrics.running.sum / static_cast<double>(metrics.running.count), 4);
  EXPECT_EQ(type_in(seen, "q", "u").completed, 1U);
}

// D-12: failed runs are observed like others; tasks that were given back or lost did not end.
TEST(LocalMetrics, runs_that_failed_are_observed_too) {
  BrokerDriver d;
  d.live(31s);
  const NewTask task{.queue = "q", .type = "t", .max_lost = 1};
  life(d, task, 0s, 1s, Failed{error("no"), false});
  life(d, task, 0s, 1s, Failed{error("no")});
  EXPECT_EQ(type_in(metrics_of(d), "q", "t").running.count, 2U);
  life(d, task, 0s, 1s, GiveBack{});
  d.take_one("q");
  d.live(62s);
  const TypeMetrics metrics = type_in(metrics_of(d), "q", "t");
  EXPECT_EQ(metrics.running.count, 2U);
  EXPECT_EQ(metrics.failed, 1U);
  EXPECT_EQ(metrics.retried, 1U);
  EXPECT_EQ(metrics.given_back, 1U);
  EXPECT_EQ(metrics.lost, 1U);
}

TEST(LocalMetrics, buckets_are_those_that_were_asked_for) {
  // S0-175, S3-068
  for (const double bound : {0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0}) {
    EXPECT_THAT(task_bounds, ::testing::Contains(bound));
  }
  BrokerDriver d;
  life(d, {.queue = "q"}, 0s, 5s);
  life(d, {.queue = "q"}, 5ms, 5001ms);
  life(d, {.queue = "q"}, 0s, 2h);
  const TypeMetrics metrics = type_in(metrics_of(d), "q", "");
  std::vector<std::pair<double, std::uint64_t>> upto;
  for (std::size_t i = 0; i < metrics.running.bounds.size(); ++i) {
    if (metrics.running.counts[i] != 0) {
      upto.emplace_back(metrics.running.bounds[i], metrics.running.counts[i]);
    }
  }
  EXPECT_THAT(upto, ::testing::ElementsAre(std::pair(5.0, 1U), std::pair(10.0, 1U)));
  EXPECT_EQ(metrics.running.counts.back(), 1U);
  EXPECT_EQ(metrics.waiting.counts[0], 3U);
}

// S0-174, S0-178: by type and priority, successful or not.
TEST(LocalMetrics, metrics_by_priority_are_kept_if_switched_on) {
  LocalBrokerOptions options;
  options.rules.priority_metrics = true;
  BrokerDriver d(options);
  life(d, {.queue = "q", .type = "t", .priority = 9}, 0s, 1s);
  life(d, {.queue = "r", .type = "t", .priority = 7}, 0s, 3s, Failed{error("no"), false});
  life(d, {.queue = "r", .type = "t", .priority = 7}, 0s, 3s, Snooze{d.now() + 1h});
  life(d, {.queue = "q", .type = "t", .priority = 3}, 0s, 1s);
  life(d, {.queue = "q", .type = "u"}, 0s, 1s);
  const MetricsSnapshot seen = metrics_of(d);
  ASSERT_THAT(seen.priorities, SizeIs(3));
  EXPECT_EQ(seen.priorities[0].priority, PriorityClass::low);
  const PriorityMetrics& high = seen.priorities[1];
  EXPECT_EQ(high.type, "t");
  EXPECT_EQ(name_of(high.priority), "high");
  EXPECT_EQ(high.completed, 1U);
  EXPECT_EQ(high.failed, 1U);
  EXPECT_DOUBLE_EQ(high.running.sum, 4);
  EXPECT_EQ(seen.priorities[2].type, "u");
  EXPECT_EQ(seen.priorities[2].priority, PriorityClass::medium);
  BrokerDriver without;
  life(without, {.queue = "q"}, 0s, 1s);
  EXPECT_THAT(metrics_of(without).priorities, SizeIs(0));
}

// S0-176, S0-177, S3-067: the sizes are current.
TEST(LocalMetrics, sizes_of_queues_are_counted_when_they_are_asked_for) {
  BrokerDriver d;
  d.put({.queue = "q", .priority = 8});
  d.put({.queue = "q", .delay = 1h});
  d.take_one("q");
  const QueueCounts counts = metrics_of(d).queues.back().counts;
  EXPECT_EQ(counts.by[static_cast<std::size_t>(TaskState::processing)][8], 1U);
  EXPECT_EQ(counts.of(TaskState::delayed), 1U);
  EXPECT_EQ(counts.of(TaskState::failed), 0U);
}

TEST(LocalMetrics, whatever_clients_call_their_types_the_metrics_are_bounded) {
  BrokerDriver d;
  for (int i = 0; i < 60; ++i) d.put({.queue = "q", .type = "t" + std::to_string(i)});
  const MetricsSnapshot seen = metrics_of(d);
  EXPECT_THAT(seen.types, SizeIs(51));
  EXPECT_EQ(type_in(seen, "q", "other").put, 10U);
  EXPECT_EQ(seen.queues.back().stats.put, 60U);
}

TEST(LocalMetrics, refused_puts_existing_tasks_and_late_reports_are_counted) {
  BrokerDriver d;
  QueueSettings small{.name = "small"};
  small.max_depth = 1;
  d.put_queue(small);
  must(d.try_put(
      {{.queue = "small"}, {.queue = "small"}, {.queue = "small"}, {.queue = "bad name"}}));
  const TaskId id = d.put({.queue = "q", .type = "t"}).id;
  must(d.try_put({{.id = id, .queue = "q", .type = "t"}}));
  Lease lease = d.take_one("q");
  lease.token.value += 77;
  EXPECT_THAT(d.try_settle(lease, Done{}), FailsWith(ErrorCode::lease_lost));
  const MetricsSnapshot seen = metrics_of(d);
  EXPECT_THAT(seen.refused, ::testing::ElementsAre(std::pair(ErrorCode::invalid, 1U),
                                                   std::pair(ErrorCode::limited, 2U)));
  EXPECT_EQ(type_in(seen, "q", "t").existing, 1U);
  EXPECT_EQ(type_in(seen, "q", "t").put, 1U);
  EXPECT_EQ(seen.late_reports, 1U);
}

TEST(LocalMetrics, a_removed_queue_has_no_metrics) {
  BrokerDriver d;
  life(d, {.queue = "q", .type = "t", .keep_for = 0s}, 0s, 1s);
  must(d.wait<void>(
      [&](auto done) { d.broker->remove_queue(d.ask(), "q", false, std::move(done)); }));
  const MetricsSnapshot seen = metrics_of(d);
  EXPECT_THAT(seen.types, SizeIs(0));
  for (const QueueView& view : seen.queues) EXPECT_NE(view.queue.settings.name, "q");
  d.put({.queue = "q", .type = "t"});
  EXPECT_EQ(type_in(metrics_of(d), "q", "t").completed, 0U);
}

TEST(LocalMetrics, processors_are_those_of_workers_that_reported_lately) {
  BrokerDriver d;
  const auto beat = [&](const std::string& worker) {
    must(d.wait<Instructions>([&](auto done) {
      d.broker->beat(d.ask(),
                     {.worker = worker,
                      .processors = 4,
                      .queues = {{.queue = "q", .processors = 4, .most = 4, .busy = 3}}},
                     std::move(done));
    }));
  };
  beat("a");
  d.pass(31s);
  beat("b");
  const WorkerMetrics workers = metrics_of(d).workers;
  EXPECT_EQ(workers.seen, 2U);
  EXPECT_EQ(workers.beating, 1U);
  EXPECT_EQ(workers.processors, 4U);
  EXPECT_EQ(workers.busy, 3U);
}

// A store whose disk fails at some moment.
class GoneStore final : public ForwardingStore {
 public:
  explicit GoneStore(Store& inner) : ForwardingStore(inner) {}
  Result<void> flush() override {
    if (gone) return fail(ErrorCode::unavailable, "the disk is gone");
    return ForwardingStore::flush();
  }
  std::atomic<bool> gone = false;
};

TEST(LocalMetrics, a_scrape_is_answered_where_the_store_has_failed) {
  ManualClock clock{t0};
  const auto memory = open_memory();
  GoneStore store(*memory);
  LocalBroker broker(clock, store, {.keep_time = false});
  const Ask ask{.caller = {1}};
  const auto put = [&] {
    return wait_for_answer<std::vector<Result<Put>>>(
        [&](auto done) { broker.put(ask, {task("q", {.type = "t"})}, std::move(done)); });
  };
  must(put());
  store.gone = true;
  EXPECT_THAT(put(), FailsWith(ErrorCode::unavailable));
  const MetricsSnapshot seen = must(
      wait_for_answer<MetricsSnapshot>([&](auto done) { broker.metrics(ask, std::move(done)); }));
  ASSERT_TRUE(seen.failure);
  EXPECT_THAT(seen.failure->message, ::testing::HasSubstr("the disk is gone"));
  EXPECT_THAT(seen.queues, SizeIs(0));
  EXPECT_EQ(type_in(seen, "q", "t").put, 1U);
  broker.stop();
}

TEST(LocalMetrics, code_in_the_process_may_read_the_store) {
  BrokerDriver d;
  const Put put = d.put({.queue = "q"});
  const auto found = d.wait<Task>([&](auto done) {
    d.broker->read<Task>(
        d.ask(), [&](Reader& reader, TimePoint) { return find_task(reader, put.id); },
        std::move(done));
  });
  EXPECT_EQ(must(found).queue, "q");
}

}  // namespace
}  // namespace millrace
