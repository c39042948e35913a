// Every change of a task becomes an event, once it is stored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "broker/local_broker.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Lines = std::vector<std::string>;

// "put queued q t": what a test checks of an event.
std::string line_of(const EventRecord& event) {
  std::string line = std::string(name_of(event.what)) + " " + std::string(name_of(event.state)) +
                     " " + event.queue;
  if (!event.type.empty()) line += " " + event.type;
  if (!event.client_id.empty()) line += " by " + event.client_id;
  if (!event.worker.empty()) line += " to " + event.worker;
  if (!event.error_code.empty()) line += " " + event.error_code;
  if (event.progress) line += " " + std::to_string(static_cast<int>(*event.progress)) + "%";
  return line;
}

class LocalEvents : public ::testing::Test {
 protected:
  // What happened since the last call.
  Lines news(EventFilter filter = {}) {
    EventPage page = d.broker->events().read(filter, seen_, 1000, 1000);
    seen_ = page.next;
    Lines lines;
    for (const EventRecord& event : page.events) lines.push_back(line_of(event));
    return lines;
  }
  Broker::States states(auto verb) { return must(d.wait<Broker::States>(verb)); }
  TaskId put(NewTask task) {
    task.queue = "q";
    return d.put(std::move(task)).id;
  }
  TaskId put_and_forget(NewTask task = {}) {
    const TaskId id = put(std::move(task));
    news();
    return id;
  }
  Lease take_and_forget() {
    const Lease lease = d.take_one("q");
    news();
    return lease;
  }
  // Another broker, which has no events yet.
  void restart() {
    d.restart();
    seen_ = 0;
  }

  BrokerDriver d;
  std::uint64_t seen_ = 0;
};

TEST_F(LocalEvents, a_task_is_put_taken_and_completed) {
  const TaskId id = put({.type = "t", .client_id = "shop"});
  EXPECT_THAT(news(), ElementsAre("put queued q t by shop"));
  d.pass(3s);
  const Lease lease = d.take_one("q");
  EXPECT_THAT(news(), ElementsAre("taken processing q t by shop to w"));
  d.settle(lease, Done{});
  EXPECT_THAT(news(), ElementsAre("completed completed q t by shop"));
  const EventPage all = d.broker->events().read({}, 0, 10, 10);
  EXPECT_EQ(all.events[0].id, id);
  EXPECT_EQ(all.events[0].at, t0);
  EXPECT_EQ(all.events[1].at, t0 + 3s);
  EXPECT_EQ(all.events[2].number, 3U);
}

TEST_F(LocalEvents, a_put_tells_of_new_tasks_only_and_in_which_state_they_are) {
  const TaskId id = fresh_id();
  must(d.try_put({task("q", {.id = id}), task("q", {.id = id}), task("q", {.delay = 1s}),
                  task("q", {.held = true}), task("bad name"), task("r", {.type = "x"})}));
  EXPECT_THAT(news(),
              ElementsAre("put queued q", "put delayed q", "put created q", "put queued r x"));
}

TEST_F(LocalEvents, a_queue_is_told_by_its_name_whatever_it_is_called_by) {
  d.put_queue(queue("q", {.number = QueueNumber{7}}));
  d.put({.queue = QueueNumber{7}});
  // As another process would create one that this broker does not know.
  const Uuid id = fresh_uuid();
  must(d.store->put_queue(queue("r", {.id = id}), PutQueue::create, d.now()));
  must(d.try_put({task(id), task("q"), task(id)}));
  EXPECT_THAT(news(), ElementsAre("put queued q", "put queued r", "put queued q", "put queued r"));
}

TEST_F(LocalEvents, every_outcome_of_a_run_is_told) {
  put_and_forget();
  d.settle(take_and_forget(), GiveBack{});
  EXPECT_THAT(news(), ElementsAre("given_back queued q"));
  d.settle(take_and_forget(), Snooze{d.now() + 1s});
  EXPECT_THAT(news(), ElementsAre("snoozed delayed q"));
  d.live(2s);
  d.settle(take_and_forget(), RetryAt{d.now() + 1s, error("no", "e1")});
  EXPECT_THAT(news(), ElementsAre("retrying retrying q e1"));
  d.live(2s);
  d.settle(take_and_forget(), Failed{error("no", "e2"), false});
  EXPECT_THAT(news(), ElementsAre("failed failed q e2"));
  put_and_forget({.retry = RetryRules{.max_retries = 0}});
  d.settle(take_and_forget(), Failed{error("no", "e3")});
  EXPECT_THAT(news(), ElementsAre("dead dead q e3"));
  put_and_forget();
  d.settle(take_and_forget(), Cancel{"why not"});
  EXPECT_THAT(news(), ElementsAre("cancelled cancelled q"));
}

TEST_F(LocalEvents, what_is_settled_twice_is_told_once) {
  put_and_forget();
  const Lease lease = take_and_forget();
  d.settle(lease, Done{});
  news();
  EXPECT_EQ(d.settle(lease, Done{}).status, SettleStatus::already);
  EXPECT_THAT(news(), IsEmpty());
}

TEST_F(LocalEvents, follow_ups_are_told_after_what_they_follow) {
  put_and_forget({.callback = Callback{.url = "http://x"}, .client_id = "shop"});
  must(d.try_settle(take_and_forget(), Done{},
                    {task("next", {.type = "a"}), task("next", {.type = "b", .delay = 1s})}));
  EXPECT_THAT(news(), ElementsAre("completed completed q by shop", "put queued next a",
                                  "put delayed next b"));
  // The webhook is a task of an internal queue, which must be named.
  seen_ = 0;
  EXPECT_THAT(news({.queue = "$webhooks"}), ElementsAre("put queued $webhooks webhook by shop"));
  EXPECT_EQ(d.queue("next").stats.put, 2U);
}

TEST_F(LocalEvents, progress_is_told_with_a_restart_in_between_and_without) {
  put_and_forget({.type = "t", .client_id = "shop"});
  const Lease lease = take_and_forget();
  const auto extend = [&](std::optional<double> progress, Token token) {
    return must(d.try_work({.extensions = {{lease.id, token, std::nullopt, progress, {}}}}));
  };
  extend(std::nullopt, lease.token);
  EXPECT_THAT(news(), IsEmpty());
  extend(40, lease.token);
  EXPECT_THAT(news(), ElementsAre("progress processing q t by shop 40%"));
  extend(50, Token{lease.token.value + 77});
  EXPECT_THAT(news(), IsEmpty());
  restart();
  extend(60, lease.token);
  EXPECT_THAT(news(), ElementsAre("progress processing q t by shop 60%"));
  extend(70, Token{lease.token.value + 77});
  EXPECT_THAT(news(), IsEmpty());
}

TEST_F(LocalEvents, a_settlement_after_a_restart_is_told_as_any_other) {
  put_and_forget({.type = "t", .client_id = "shop"});
  const Lease lease = take_and_forget();
  restart();
  d.settle(lease, Done{});
  EXPECT_THAT(news(), ElementsAre("completed completed q t by shop"));
}

TEST_F(LocalEvents, cancelling_tells_whether_it_is_done_or_requested) {
  const TaskId waiting = put_and_forget({.type = "t"});
  must(d.try_cancel(waiting));
  EXPECT_THAT(news(), ElementsAre("cancelled cancelled q t"));
  EXPECT_THAT(d.try_cancel(waiting), FailsWith(ErrorCode::conflict));
  EXPECT_THAT(d.try_cancel(fresh_id()), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(news(), IsEmpty());
  const TaskId running = put_and_forget();
  const Lease lease = take_and_forget();
  must(d.try_cancel(running));
  EXPECT_THAT(news(), ElementsAre("cancel_requested processing q"));
  d.settle(lease, Failed{error("no")});
  EXPECT_THAT(news(), ElementsAre("cancelled cancelled q"));
}

TEST_F(LocalEvents, a_webhook_of_a_cancelled_task_is_told_only_if_it_is_cancelled_now) {
  const EventFilter webhooks{.queue = "$webhooks"};
  const TaskId running = put({.callback = Callback{.url = "http://x"}});
  d.take_one("q");
  must(d.try_cancel(running));
  EXPECT_THAT(news(webhooks), IsEmpty());
  must(d.try_cancel(put({.callback = Callback{.url = "http://x"}})));
  EXPECT_THAT(news(webhooks), ElementsAre("put queued $webhooks webhook"));
}

TEST_F(LocalEvents, a_task_that_is_released_by_its_time_is_not_told_of_as_a_delayed_one_is_not) {
  const TaskId id = put_and_forget();
  d.settle(take_and_forget(), Park{d.now() + 1s});
  EXPECT_THAT(news(), ElementsAre("parked created q"));
  d.live(2s);
  EXPECT_EQ(d.find(id).state, TaskState::queued);
  EXPECT_THAT(news(), IsEmpty());
}

TEST_F(LocalEvents, a_put_that_replaces_is_told_as_a_change_of_the_task) {
  const UniqueKey key{.key = "k", .on_conflict = OnConflict::replace};
  const NewTask first{.queue = "q", .type = "old", .held = true, .unique = key};
  const TaskId id = d.put(first).id;
  EXPECT_THAT(news(), ElementsAre("put created q old"));
  EXPECT_EQ(d.put({.queue = "q", .type = "new", .unique = key, .client_id = "shop"}).id, id);
  EXPECT_THAT(news(), ElementsAre("changed queued q new by shop"));
  d.put({.queue = "q", .type = "kept", .unique = UniqueKey{.key = "k"}});
  EXPECT_THAT(news(), IsEmpty());
}

TEST_F(LocalEvents, what_an_operator_does_is_told) {
  const TaskId id = put_and_forget({.type = "t", .held = true, .client_id = "shop"});
  const auto change = [&](TaskUpdate update) {
    update.id = id;
    states([&](auto done) { d.broker->update(d.ask(), {update}, std::move(done)); });
  };
  change({.priority = 9});
  EXPECT_THAT(news(), ElementsAre("changed created q t by shop"));
  change({.release = true});
  EXPECT_THAT(news(), ElementsAre("released queued q t by shop"));
  change({.start = d.now() + 1h});
  EXPECT_THAT(news(), ElementsAre("changed delayed q t by shop"));
  change({.delivery_attempt = "200"});
  EXPECT_THAT(news(), IsEmpty());
  must(d.try_cancel(id));
  news();
  states([&](auto done) { d.broker->retry(d.ask(), {id, fresh_id()}, std::move(done)); });
  EXPECT_THAT(news(), ElementsAre("retried queued q t by shop"));
  states([&](auto done) { d.broker->remove(d.ask(), {fresh_id(), id}, std::move(done)); });
  EXPECT_THAT(news(), ElementsAre("removed queued q t by shop"));
}

TEST_F(LocalEvents, dead_letters_that_are_retried_or_removed_are_told) {
  for (const char* type : {"a", "b"}) {
    put_and_forget({.type = type});
    d.settle(take_and_forget(), Failed{error("no"), false});
  }
  const TaskId named = put_and_forget({.type = "c"});
  d.settle(take_and_forget(), Failed{error("no"), false});
  news();
  must(d.wait<Handled>([&](auto done) {
    d.broker->handle_dead(d.ask(), {.queue = "q", .type = "a"}, DeadAction::retry, std::move(done));
  }));
  EXPECT_THAT(news(), ElementsAre("retried queued q a"));
  must(d.wait<Handled>([&](auto done) {
    d.broker->handle_dead(d.ask(), {.ids = {fresh_id(), named}}, DeadAction::retry,
                          std::move(done));
  }));
  EXPECT_THAT(news(), ElementsAre("retried queued q c"));
  must(d.wait<Handled>([&](auto done) {
    d.broker->handle_dead(d.ask(), {.queue = "q"}, DeadAction::remove, std::move(done));
  }));
  EXPECT_THAT(news(), ElementsAre("removed failed q b"));
}

TEST_F(LocalEvents, what_the_timer_does_is_told) {
  d.live(31s);
  put_and_forget({.type = "late", .start_by = d.now() + 2s});
  d.live(3s);
  EXPECT_THAT(news(), ElementsAre("expired cancelled q late"));
  put_and_forget({.type = "t", .max_lost = 1, .client_id = "shop"});
  take_and_forget();
  d.live(62s);
  EXPECT_THAT(news(), ElementsAre("lost queued q t by shop"));
  take_and_forget();
  d.live(62s);
  EXPECT_THAT(news(), ElementsAre("lost dead q t by shop", "dead dead q t by shop worker_lost"));
}

TEST_F(LocalEvents, a_lost_task_that_was_to_be_cancelled_is_lost_and_cancelled) {
  d.live(31s);
  const TaskId id = put_and_forget({.callback = Callback{.url = "http://x"}});
  take_and_forget();
  must(d.try_cancel(id));
  news();
  const std::uint64_t before = seen_;
  d.live(62s);
  EXPECT_THAT(news(), ElementsAre("lost cancelled q", "cancelled cancelled q"));
  seen_ = before;
  EXPECT_THAT(news({.queue = "$webhooks"}), ElementsAre("put queued $webhooks webhook"));
}

TEST_F(LocalEvents, ticks_of_schedules_and_runs_by_hand_are_told) {
  d.put_schedule({.name = "s", .rule = {.every = 1min}, .task = {.queue = "q", .type = "t"}});
  d.live(61s);
  EXPECT_THAT(news(), ElementsAre("put queued q t"));
  must(d.wait<Put>([&](auto done) { d.broker->run_schedule(d.ask(), "s", std::move(done)); }));
  EXPECT_THAT(news(), ElementsAre("put queued q t"));
  EXPECT_EQ(d.queue("q").stats.put, 2U);
}

TEST_F(LocalEvents, a_webhook_that_goes_out_again_is_told) {
  const TaskId id = put({.callback = Callback{.url = "http://x"}});
  d.settle(d.take_one("q"), Done{});
  news();
  must(d.wait<Put>([&](auto done) { d.broker->redeliver(d.ask(), id, std::move(done)); }));
  seen_ = 0;
  EXPECT_THAT(news({.queue = "$webhooks"}),
              ElementsAre("put queued $webhooks webhook", "put queued $webhooks webhook"));
}

TEST_F(LocalEvents, tasks_of_a_caller_that_left_are_given_back) {
  put_and_forget();
  WorkResult result = must(d.try_work({.takes = {{.worker = "w", .queues = {{"q", 1}}}}}));
  news();
  d.broker->give_back(result);
  must(d.try_put({}));  // when this is answered, the give-back is stored
  // The event is added by a call of its own, of another caller.
  while (d.broker->events().last() == seen_) must(d.try_put({}));
  EXPECT_THAT(news(), ElementsAre("given_back queued q"));
  EXPECT_EQ(d.queue("q").stats.given_back, 1U);
}

TEST_F(LocalEvents, clearing_a_queue_adds_no_events) {
  put_and_forget();
  must(d.wait<std::uint64_t>([&](auto done) { d.broker->clear(d.ask(), "q", std::move(done)); }));
  EXPECT_THAT(news(), IsEmpty());
}

// ---- Nothing leaves before it is stored ---------------------------------------------------------

// A store over a disk that fails when told to.
class UnsyncedStore final : public ForwardingStore {
 public:
  explicit UnsyncedStore(Store& inner) : ForwardingStore(inner) {}
  Result<void> flush() override {
    if (fails) return fail(ErrorCode::unavailable, "the disk is gone");
    return ForwardingStore::flush();
  }
  std::atomic<bool> fails = false;
};

class UnstoredEvents : public ::testing::Test {
 protected:
  // Does something that cannot be stored; true if it becomes an event.
  bool tells(const std::function<void()>& something) {
    const std::uint64_t before = broker_.events().last();
    store_.fails = true;
    something();
    return broker_.events().last() != before;
  }
  TaskId put() {
    return must(only(wait_for_answer<std::vector<Result<Put>>>(
                    [&](auto done) { broker_.put(ask_, {task("q")}, std::move(done)); })))
        .id;
  }

  ManualClock clock_{t0};
  std::unique_ptr<Store> memory_ = open_memory();
  UnsyncedStore store_{*memory_};
  LocalBroker broker_{clock_, store_, {.keep_time = false}};
  const Ask ask_{.caller = {1}};
};

TEST_F(UnstoredEvents, a_put_that_is_not_stored_is_not_told) {
  EXPECT_FALSE(tells([&] {
    EXPECT_THAT(wait_for_answer<std::vector<Result<Put>>>(
                    [&](auto done) { broker_.put(ask_, {task("q")}, std::move(done)); }),
                FailsWith(ErrorCode::unavailable));
  }));
}

TEST_F(UnstoredEvents, nor_is_a_cancellation) {
  const TaskId id = put();
  EXPECT_FALSE(tells([&] {
    EXPECT_THAT(wait_for_answer<Broker::States>(
                    [&](auto done) { broker_.cancel(ask_, {id}, "no", std::move(done)); }),
                FailsWith(ErrorCode::unavailable));
  }));
}

TEST_F(UnstoredEvents, nor_is_a_removal) {
  const TaskId id = put();
  EXPECT_FALSE(tells([&] {
    EXPECT_THAT(wait_for_answer<Broker::States>(
                    [&](auto done) { broker_.remove(ask_, {id}, std::move(done)); }),
                FailsWith(ErrorCode::unavailable));
  }));
}

TEST_F(UnstoredEvents, nor_is_what_the_timer_does) {
  must(only(wait_for_answer<std::vector<Result<Put>>>(
      [&](auto done) { broker_.put(ask_, {task("q", {.start_by = t0 + 1s})}, std::move(done)); })));
  broker_.run_services();
  clock_.advance(2s);
  EXPECT_FALSE(tells([&] { broker_.run_services(); }));
}

TEST_F(UnstoredEvents, nor_is_a_schedule_that_is_run_by_hand) {
  must(wait_for_answer<Schedule>([&](auto done) {
    broker_.put_schedule(ask_, {.name = "s", .rule = {.every = 1h}, .task = {.queue = "q"}},
                         PutQueue::create, std::move(done));
  }));
  EXPECT_FALSE(tells([&] {
    EXPECT_THAT(
        wait_for_answer<Put>([&](auto done) { broker_.run_schedule(ask_, "s", std::move(done)); }),
        FailsWith(ErrorCode::unavailable));
  }));
}

}  // namespace
}  // namespace millrace
