// Queues and schedules over HTTP, beside those of a LocalBroker.
#include "tests/api/http_twins.h"

namespace millrace::test {
namespace {

const Ask me{.caller = {1}};

QueueSettings rich_queue(std::string name) {
  QueueSettings to = queue(std::move(name), {.number = QueueNumber{7}, .description = "d \"d\""});
  to.max_concurrent = 3, to.max_depth = 10, to.max_task_size = 2048, to.put_rate = Rate{5, 1min},
  to.weight = 3;
  to.process_rate = Rate{1, 1ms}, to.priority = 9, to.ageing = 1min, to.lease = 1h;
  to.timeout = 2h, to.batch_size = 1, to.max_lost = unlimited, to.dead_letters = true;
  to.retry = {.base = 1s, .cap = 1h, .max_retries = unlimited};
  to.types = {{.type = "a", .retry = {.base = 5s}, .timeout = 1s, .max_lost = 2}, {.type = "b"}};
  to.keep_completed = {}, to.keep_dead = {.last = 5};
  return to;
}

TEST_F(HttpTwins, queues_are_made_replaced_and_shown) {
  const auto store = [&](const QueueSettings& settings, PutQueue mode) {
    return both<Queue>(
        [&](Broker& broker, auto done) { broker.put_queue(me, settings, mode, std::move(done)); });
  };
  must(store(rich_queue("rich"), PutQueue::create));
  EXPECT_EQ(store(rich_queue("rich"), PutQueue::create).error().code, ErrorCode::conflict);
  QueueSettings plain = queue("rich", {.number = QueueNumber{7}});
  must(store(plain, PutQueue::replace));
  must(store(rich_queue("rich"), PutQueue::replace));
  EXPECT_EQ(store(queue("not a name"), PutQueue::create).error().code, ErrorCode::invalid);
  put_one();
  const auto show = [&](std::optional<QueueRef> which) {
    return both<std::vector<QueueView>>(
        [&](Broker& broker, auto done) { broker.queues(me, which, std::move(done)); });
  };
  EXPECT_EQ(must(show(std::nullopt)).size(), 2U);
  EXPECT_EQ(must(show(std::string("emails"))).at(0).counts.ready(), 1U);
  EXPECT_EQ(must(show(QueueNumber{7})).at(0).queue.settings.name, "rich");
  EXPECT_EQ(show(std::string("nowhere")).error().code, ErrorCode::not_found);
}

// S1-014
TEST_F(HttpTwins, stats_of_queues_are_the_same) {
  for (int i = 0; i < 4; ++i) put_one({.priority = static_cast<std::uint8_t>(i)});
  pass(2s);
  const auto leases = take(2);
  pass(1500ms);
  must(settle(leases[0], Done{}));
  must(settle(leases[1], Failed{.error = error("hopeless"), .retryable = false}));
  must(both<std::vector<QueueView>>([&](Broker& broker, auto done) {
    broker.queues(me, std::string("emails"), std::move(done));
  }));
}

TEST_F(HttpTwins, tasks_and_results_of_16_mib_pass) {
  put_one({.held = true});  // makes the queue
  must(both<Queue>([&](Broker& broker, auto done) {
    broker.change_queue(
        me, std::string("emails"),
        [](QueueSettings& to) -> Result<void> {
          to.max_task_size = limits::max_payload;
          return {};
        },
        std::move(done));
  }));
  const std::string bytes(limits::max_payload, '\xFE');  // as base64: a third more
  put_one({.payload = bytes, .content_type = "application/octet-stream"});
  const auto leases = take(1);
  must(settle(leases[0], Done{bytes}));
  const Task found = must(find(leases[0].id));
  EXPECT_TRUE(found.payload == bytes);
  EXPECT_TRUE(found.result == bytes);
}

TEST_F(HttpTwins, queues_are_changed) {
  must(both<Queue>([&](Broker& broker, auto done) {
    broker.put_queue(me, rich_queue("rich"), PutQueue::create, std::move(done));
  }));
  const auto change = [&](QueueRef which, auto how) {
    return both<Queue>(
        [&](Broker& broker, auto done) { broker.change_queue(me, which, how, std::move(done)); });
  };
  const Queue changed = must(change(std::string("rich"), [](QueueSettings& to) -> Result<void> {
    to.max_depth.reset(), to.retry.cap.reset(), to.retry.base = 9s, to.types.clear();
    to.keep_dead = {}, to.paused_until = never, to.active = false;
    return {};
  }));
  EXPECT_EQ(changed.settings.max_depth, std::nullopt);
  EXPECT_EQ(changed.settings.keep_dead, Keep{});
  must(change(QueueNumber{7}, [](QueueSettings&) -> Result<void> { return {}; }));
  EXPECT_EQ(change(std::string("rich"),
                   [](QueueSettings&) -> Result<void> { return fail(ErrorCode::conflict, "no"); })
                .error()
                .message,
            "no");
  EXPECT_EQ(change(std::string("rich"),
                   [](QueueSettings& to) -> Result<void> {
                     to.name = "other";
                     return {};
                   })
                .error()
                .code,
            ErrorCode::invalid);
  EXPECT_EQ(change(std::string("nowhere"), [](QueueSettings&) -> Result<void> { return {}; })
                .error()
                .code,
            ErrorCode::not_found);
}

TEST_F(HttpTwins, queues_are_cleared_and_removed) {
  for (int i = 0; i < 3; ++i) put_one();
  const auto clear = [&](QueueRef which) {
    return both<std::uint64_t>(
        [&](Broker& broker, auto done) { broker.clear(me, which, std::move(done)); });
  };
  const auto remove = [&](QueueRef which, bool force) {
    return both<void>(
        [&](Broker& broker, auto done) { broker.remove_queue(me, which, force, std::move(done)); });
  };
  EXPECT_EQ(remove(std::string("emails"), false).error().code, ErrorCode::conflict);
  EXPECT_EQ(must(clear(std::string("emails"))), 3U);
  EXPECT_EQ(clear(std::string("nowhere")).error().code, ErrorCode::not_found);
  EXPECT_TRUE(remove(std::string("emails"), false).has_value());
  put_one();
  EXPECT_TRUE(remove(std::string("emails"), true).has_value());
  EXPECT_EQ(remove(std::string("nowhere"), true).error().code, ErrorCode::not_found);
}

TEST_F(HttpTwins, schedules_live_the_same_life) {
  put_one();
  Schedule nightly{.name = "nightly", .rule = {.cron = "0 3 * * *", .zone = "Europe/Berlin"}};
  nightly.task = with_everything(), nightly.task.queue = std::string("emails");
  nightly.task.start.reset(), nightly.task.start_by.reset(), nightly.task.payload = "null";
  nightly.overlap = Overlap::allow, nightly.missed = Missed::all, nightly.missed_most = 3;
  nightly.jitter = 5s;
  const auto store = [&](const Schedule& schedule, PutQueue mode) {
    return both<Schedule>([&](Schedules& broker, auto done) {
      broker.put_schedule(me, schedule, mode, std::move(done));
    });
  };
  EXPECT_EQ(must(store(nightly, PutQueue::create)).task.payload, "null");
  EXPECT_EQ(store(nightly, PutQueue::create).error().code, ErrorCode::conflict);
  must(store(nightly, PutQueue::replace));
  Schedule hourly{.name = "hourly", .rule = {.every = 1h, .anchor = t0}};
  hourly.task.queue = std::string("emails");
  must(store(hourly, PutQueue::replace));
  const auto show = [&](std::optional<std::string> name) {
    return both<std::vector<Schedule>>(
        [&](Schedules& broker, auto done) { broker.schedules(me, name, std::move(done)); });
  };
  EXPECT_EQ(must(show(std::nullopt)).size(), 2U);
  EXPECT_EQ(must(show("nightly")).at(0).missed_most, 3U);
  EXPECT_EQ(show("..").error().code, ErrorCode::not_found);  // not another path
  EXPECT_EQ(show("never").error().code, ErrorCode::not_found);
  const auto change = [&](const std::string& name, auto how) {
    return both<Schedule>([&](Schedules& broker, auto done) {
      broker.change_schedule(me, name, how, std::move(done));
    });
  };
  EXPECT_TRUE(must(change("hourly", [](Schedule& to) -> Result<void> {
                to.paused = true, to.rule.every = 2h;
                return {};
              })).paused);
  EXPECT_EQ(change("hourly",
                   [](Schedule& to) -> Result<void> {
                     to.name = "other";
                     return {};
                   })
                .error()
                .code,
            ErrorCode::invalid);
  const auto remove = [&](const std::string& name) {
    return both<void>(
        [&](Schedules& broker, auto done) { broker.remove_schedule(me, name, std::move(done)); });
  };
  EXPECT_TRUE(remove("nightly").has_value());
  EXPECT_EQ(remove("nightly").error().code, ErrorCode::not_found);
  const auto run = [&](const std::string& name) {
    return ask<Put>(*http, [&](Schedules& broker, auto done) {
      broker.run_schedule(me, name, std::move(done));
    });
  };
  EXPECT_EQ(must(run("hourly")).state, TaskState::queued);
  EXPECT_EQ(run("nightly").error().code, ErrorCode::not_found);
}

TEST_F(HttpTwins, a_change_keeps_what_others_changed_meanwhile) {
  Schedule hourly{.name = "hourly", .rule = {.every = 1h}};
  hourly.task = {.queue = std::string("emails"), .payload = "old", .content_type = "text/plain"};
  must(both<Schedule>([&](Schedules& broker, auto done) {
    broker.put_schedule(me, hourly, PutQueue::create, std::move(done));
  }));
  LocalBroker& server_side = *server.driver.broker;
  const auto pause = [&] {
    return ask<Schedule>(server_side, [&](Schedules& broker, auto done) {
      ScheduleChange change = [](Schedule& to) -> Result<void> {
        to.paused = true, to.task.tags = {"by an operator"};
        return {};
      };
      broker.change_schedule(me, "hourly", std::move(change), std::move(done));
    });
  };
  const Schedule changed = must(ask<Schedule>(*http, [&](Schedules& broker, auto done) {
    ScheduleChange change = [&](Schedule& to) -> Result<void> {
      must(pause());  // after the schedule was read
      to.rule = {.cron = "0 3 * * *", .zone = "Europe/Berlin"}, to.task.payload = "new";
      return {};
    };
    broker.change_schedule(me, "hourly", std::move(change), std::move(done));
  }));
  EXPECT_TRUE(changed.paused);
  EXPECT_THAT(changed.task.tags, ::testing::ElementsAre("by an operator"));
  EXPECT_EQ(changed.rule, (TickRule{.cron = "0 3 * * *", .zone = "Europe/Berlin"}));
  EXPECT_EQ(changed.task.payload, "new");
  EXPECT_EQ(changed.task.content_type, "text/plain");
}

TEST_F(HttpTwins, a_schedule_is_paused_and_resumed_in_one_request) {
  put_one();
  Schedule hourly{.name = "hourly", .rule = {.every = 1h}, .task = {.queue = "emails"}};
  must(both<Schedule>([&](Schedules& broker, auto done) {
    broker.put_schedule(me, hourly, PutQueue::create, std::move(done));
  }));
  const auto pause = [&](const std::string& name, bool paused) {
    return ask<Schedule>(*http, [&](HttpBroker& broker, auto done) {
      broker.pause_schedule(me, name, paused, std::move(done));
    });
  };
  EXPECT_TRUE(must(pause("hourly", true)).paused);
  EXPECT_FALSE(must(pause("hourly", false)).paused);
  EXPECT_EQ(pause("never", true).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace millrace::test
