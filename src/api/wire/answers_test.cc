// The client's side of the wire against the server's: what one writes, the other reads as it was.
#include "api/wire/answers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json/parse.hpp>

#include "api/wire/requests.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "api/wire/work.h"
#include "tests/support/builders.h"
#include "tests/support/print.h"

namespace millrace::wire {
namespace {

using namespace std::chrono_literals;
using test::t0;
using ::testing::HasSubstr;

// Payloads that something could happen to on their way.
const std::vector<std::string> payloads = {"",
                                           "{}",
                                           R"({"a": [1, 2.50, null]})",
                                           "null",
                                           " null",
                                           "\"text\"",
                                           "5",
                                           " 5",
                                           "5\n",
                                           "[1]\r\n\t ",
                                           "no json",
                                           "{\"half\":",
                                           "\"\\ud800\"",
                                           "m\xc3\xbchle",
                                           std::string("\xff\x00\x01", 3),
                                           "\x01\x02\"\\",
                                           "true"};
const std::vector<std::string> types = {"", "application/json", "text/plain",
                                        "application/octet-stream"};

NewTask with_everything() {
  return {.id = test::fresh_id(),
          .queue = std::string("emails"),
          .type = "send",
          .payload = R"({"to": 1})",
          .content_type = "application/vnd.shop+json",
          .priority = 0,
          .held = true,
          .start = t0 + 5ms,
          .start_by = t0 + 1h,
          .timeout = 1s,
          .max_lost = unlimited,
          .retry = RetryRules{.base = 1s, .max_retries = unlimited},
          .unique = UniqueKey{.key = "k", .scope = UniqueScope::window, .window = 5s},
          .callback = Callback{.url = "https://example.org", .events = 5, .max_attempts = 1},
          .keep_for = 0ms,
          .client_id = "c",
          .request_id = "r",
          .group = "g",
          .metadata = R"({"m": {}})",
          .tags = {"a", "m\xc3\xbchle"},
          .parent = test::fresh_id(),
          .after = After{.tasks = {test::fresh_id(), test::fresh_id()},
                         .when = AfterWhen::ended,
                         .otherwise = Otherwise::hold}};
}

Lease lease_with_everything() {
  const NewTask task = with_everything();
  Lease lease{.id = task.id, .number = {12}, .token = {0xfedcba9876543210}, .until = t0 + 1min};
  lease.queue = "emails", lease.type = task.type, lease.payload = task.payload;
  lease.content_type = task.content_type, lease.priority = 9;
  lease.counters = {.deliveries = 4, .attempts = 3, .retries = 2, .lost = 1};
  lease.created_at = t0, lease.start = t0 + 1ms, lease.previous_start = t0 - 1ms;
  lease.started_at = t0 + 2ms, lease.start_by = task.start_by, lease.timeout = task.timeout;
  lease.max_lost = task.max_lost, lease.retry = task.retry, lease.unique = task.unique;
  lease.callback = task.callback, lease.keep_for = task.keep_for;
  lease.client_id = task.client_id, lease.request_id = task.request_id;
  lease.group = task.group, lease.metadata = task.metadata, lease.tags = task.tags;
  lease.parent = task.parent, lease.after = task.after;
  return lease;
}

TEST(Requests, tasks_arrive_as_they_were_put) {
  std::vector<NewTask> tasks = {
      with_everything(), {.queue = QueueNumber{7}}, {.queue = test::fresh_uuid(), .delay = 0ms}};
  for (const std::string& payload : payloads) {
    for (const std::string& type : types) {
      tasks.push_back(test::task("q", {.payload = payload, .content_type = type}));
    }
  }
  const auto read = read_put(put_text(tasks), nullptr);
  ASSERT_TRUE(read) << read.error().error.message;
  EXPECT_TRUE(read->list);
  ASSERT_TRUE(read->refused.empty()) << read->refused.front().second.error.message;
  ASSERT_EQ(read->tasks.size(), tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    // Without a payload there is nothing that a type would say something about.
    EXPECT_EQ(read->tasks[i], tasks[i]) << put_text(std::span(&tasks[i], 1));
  }
}

TEST(Requests, one_task_is_a_list_too) {
  const std::vector<NewTask> tasks = {test::task("q")};
  EXPECT_TRUE(read_put(put_text(tasks), nullptr)->list);
}

TEST(Requests, a_work_order_arrives_as_it_was_given) {
  const TaskError error{.code = "c", .message = "m", .details = "{\"d\":1}", .stack = "s"};
  std::vector<Report> reports;
  const auto report = [&reports](Outcome outcome) {
    Report& added = reports.emplace_back();
    added.id = test::fresh_id(), added.token = {reports.size()};
    added.outcome = std::move(outcome);
  };
  report(Done{});
  reports.back().follow_ups = {with_everything(), test::task("q")};
  report(Failed{.error = error, .retryable = false});
  report(Failed{.error = {.message = ""}});
  report(RetryAt{.at = t0 + 5s, .error = error});
  report(Snooze{.until = never});
  report(Cancel{.reason = "enough"});
  report(Cancel{});
  report(GiveBack{});
  for (const std::string& payload : payloads) {
    report(Done{.result = payload});
  }
  const std::vector<Extension> extensions = {
      {.id = test::fresh_id(), .token = {1}},
      {.id = test::fresh_id(), .token = {2}, .lease = 5s, .progress = 33.25, .log = {"a", ""}}};
  const TakeRequest take{
      .worker = "w", .queues = {{std::string("a"), 5}, {QueueNumber{3}, 1}}, .lease = 30s};

  const auto read = read_work(work_text(reports, extensions, &take, 7s), t0);
  ASSERT_TRUE(read) << read.error().error.message;
  EXPECT_EQ(read->extensions, extensions);
  EXPECT_EQ(read->takes, std::vector{take});
  EXPECT_EQ(read->wait, 7s);
  ASSERT_EQ(read->reports.size(), reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    EXPECT_EQ(read->reports[i].id, reports[i].id);
    EXPECT_EQ(read->reports[i].token, reports[i].token);
    EXPECT_EQ(read->reports[i].follow_ups, reports[i].follow_ups);
    ASSERT_EQ(read->reports[i].outcome.index(), reports[i].outcome.index()) << i;
    if (const auto* done = std::get_if<Done>(&reports[i].outcome)) {
      EXPECT_EQ(std::get<Done>(read->reports[i].outcome).result, done->result) << i;
    }
  }
  const auto& failed = std::get<Failed>(read->reports[1].outcome);
  EXPECT_EQ(failed.error, error);
  EXPECT_EQ(failed.retryable, false);
  EXPECT_EQ(std::get<Failed>(read->reports[2].outcome).error, (TaskError{}));
  EXPECT_EQ(std::get<RetryAt>(read->reports[3].outcome).at, t0 + 5s);
  EXPECT_EQ(std::get<RetryAt>(read->reports[3].outcome).error, error);
  EXPECT_EQ(std::get<Snooze>(read->reports[4].outcome).until, never);
  EXPECT_EQ(std::get<Cancel>(read->reports[5].outcome).reason, "enough");
}

TEST(Requests, what_is_not_asked_for_is_not_said) {
  EXPECT_EQ(work_text({}, {}, nullptr, {}), "{}");
  const TakeRequest take{.worker = "w", .queues = {{std::string("a"), 5}}};
  EXPECT_EQ(work_text({}, {}, &take, {}),
            R"({"worker":"w","take":{"queues":[{"queue":"a","most":5}]}})");
}

TEST(Answers, work_comes_back_as_the_server_gave_it) {
  WorkResult result;
  result.settled = {Settled{.status = SettleStatus::already, .state = TaskState::dead},
                    fail(ErrorCode::lease_lost, "not yours \"any\" more"),
                    std::unexpected(Error{ErrorCode::limited, "slowly", 1500ms})};
  result.extended = {Extended{.until = t0 + 5s, .cancel_requested = true},
                     fail(ErrorCode::not_found, "gone")};
  std::vector<Lease> leases = {lease_with_everything(), {.id = test::fresh_id(), .token = {1}}};
  leases[1].queue = "q";
  for (const std::string& payload : payloads) {
    for (const std::string& type : types) {
      leases.push_back(leases[1]);
      leases.back().payload = payload, leases.back().content_type = type;
    }
  }
  result.taken.emplace_back(leases);
  std::string text;
  append(text, result);

  const auto read = work_from(text, {.reports = 3, .extensions = 2, .take = true});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->settled, result.settled);
  EXPECT_EQ(read->extended, result.extended);
  ASSERT_EQ(read->taken.size(), 1U);
  ASSERT_EQ(read->taken[0]->size(), leases.size());
  for (std::size_t i = 0; i < leases.size(); ++i) EXPECT_EQ((*read->taken[0])[i], leases[i]);
  EXPECT_EQ(leases_from(text)->taken[0]->size(), leases.size());

  EXPECT_THAT(work_from(text, {.reports = 2, .extensions = 2, .take = true}).error().message,
              HasSubstr("does not cover everything"));
  EXPECT_FALSE(work_from(text, {.reports = 3, .extensions = 3, .take = true}));
}

TEST(Answers, a_take_that_was_refused_is_an_error_of_its_own) {
  WorkResult result;
  result.taken.emplace_back(std::unexpected(Error{ErrorCode::limited, "full", 5s, true}));
  std::string text;
  append(text, result);
  const auto read = work_from(text, {.take = true});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->taken, result.taken);
}

TEST(Answers, tasks_come_back_as_they_are_stored) {
  Task task = test::old_task("q", {.number = {12}, .version = {3}, .type = "send"});
  task.state = TaskState::dead, task.cancel_requested = true, task.progress = 33.3;
  task.counters = {.deliveries = 4, .attempts = 3, .retries = 2, .lost = 1};
  task.previous_start = t0 - 1ms, task.started_at = t0, task.finished_at = t0 + 1ms;
  task.lease_until = never, task.worker = "w";
  task.error = TaskError{.code = "", .message = "m", .details = "d", .stack = "s", .failed_at = t0};
  task.delivery = DeliveryNote{.attempts = 0, .last_status = "503"};
  task.log = {{t0, "first"}, {t0 + 1ms, ""}};
  task.history = {{t0, t0 + 1s, Event::give_back, "w", "code", "m"}, {}};
  TaskPage page{.next = TaskNumber{77}, .looked_at = 5};
  for (const std::string& payload : payloads) {
    task.payload = payload, task.result = payload;
    const auto read = task_from(view_of(task));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, task);
    page.tasks.push_back(task);
  }
  const auto read = page_from(page_of(page));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->tasks, page.tasks);
  EXPECT_EQ(read->next, page.next);
  EXPECT_EQ(read->looked_at, 5U);
}

TEST(Answers, a_preview_is_cut_between_characters_and_is_text) {
  const auto preview_of = [](std::string payload) {
    TaskPage page;
    page.tasks.push_back(test::old_task("q", {}));
    page.tasks.front().payload = std::move(payload);
    const auto text = page_with_previews(std::move(page), false);
    const auto task = boost::json::parse(text).at("tasks").at(0).as_object();
    EXPECT_FALSE(task.contains("payload") || task.contains("payload_text")) << text;
    return task.contains("preview") ? std::string(task.at("preview").as_string()) : "(none)";
  };
  const std::string most(200, 'a');
  EXPECT_EQ(preview_of(""), "(none)");
  EXPECT_EQ(preview_of("short"), "short");
  EXPECT_EQ(preview_of(most), most);
  EXPECT_EQ(preview_of(most + "b"), most);
  EXPECT_EQ(preview_of(most.substr(1) + "é"), most.substr(1)) << "its second byte is the 201st";
  EXPECT_EQ(preview_of("\xFF\x01"), "(none)");
  EXPECT_EQ(preview_of(most + "\xFF"), most) << "only what is shown decides";
}

TEST(Answers, queues_keep_what_no_limit_means) {
  Queue queue{.settings = test::queue("q"), .created_at = t0, .updated_at = t0 + 1s};
  for (const Keep& keep : {Keep{}, Keep{.for_time = 5s}, Keep{.last = 7}, Keep{.last = unlimited},
                           QueueSettings{}.keep_completed}) {
    queue.settings.keep_completed = queue.settings.keep_dead = keep;
    const auto read = queue_from(view_of(QueueView{.queue = queue}));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, queue);
    const auto sent = read_queue(queue_text(queue.settings), "q");
    ASSERT_TRUE(sent) << sent.error().error.message;
    EXPECT_EQ(*sent, queue.settings);
  }
}

TEST(Answers, a_change_of_settings_is_said_by_what_differs) {
  QueueSettings from = test::queue("q", {.max_depth = 10});
  from.retry = {.base = 1s, .max_retries = 5};
  from.types = {{.type = "a"}};
  QueueSettings to = from;
  EXPECT_EQ(difference(queue_text(from), queue_text(to)), "{}");
  to.max_depth.reset(), to.retry.base.reset(), to.retry.cap = 9s, to.active = false;
  to.types = {{.type = "b"}}, to.keep_dead = {}, to.weight = 4;
  const auto patch = difference(queue_text(from), queue_text(to));
  ASSERT_TRUE(patch);
  EXPECT_EQ(*patched(from, *patch), to);
  EXPECT_THAT(*patch, testing::Not(HasSubstr("lease_ms")));
  EXPECT_FALSE(difference("{", "{}"));
  EXPECT_FALSE(difference("{}", "[]"));
}

TEST(Answers, the_difference_of_schedules_is_a_patch_between_them) {
  Schedule from{.name = "s", .rule = {.cron = "0 3 * * *", .zone = "Europe/Berlin"}};
  from.task = {.queue = "q", .payload = "old", .content_type = "text/plain", .tags = {"a"}};
  from.paused = true, from.jitter = 5s;
  const auto changed = [&](auto change) {
    Schedule to = from;
    change(to);
    const auto patch = difference(schedule_text(from), schedule_text(to));
    EXPECT_TRUE(patch);
    const auto read = patched(from, *patch);
    EXPECT_TRUE(read) << *patch;
    if (read) {
      EXPECT_EQ(schedule_text(*read), schedule_text(to)) << *patch;
    }
    return *patch;
  };
  EXPECT_EQ(changed([](Schedule&) {}), "{}");
  EXPECT_EQ(changed([](Schedule& to) { to.rule.cron = "0 4 * * *"; }),
            R"({"rule":{"cron":"0 4 * * *","anchor":"1970-01-01T00:00:00.000Z"}})")
      << "a patch of the cron expression removes the anchor, so it is repeated";
  EXPECT_EQ(changed([](Schedule& to) { to.paused = false; }), R"({"paused":null})");
  // A patch of the payload removes the content type, so it is repeated.
  EXPECT_EQ(changed([](Schedule& to) { to.task.payload = "new"; }),
            R"({"task":{"payload_text":"new","content_type":"text/plain"}})");
  changed([](Schedule& to) { to.task.payload = "null", to.task.content_type = {}; });
  changed([](Schedule& to) { to.task.payload = "{}", to.task.content_type = {}; });
  changed([](Schedule& to) { to.rule = {.every = 5min, .anchor = t0}; });
  changed([](Schedule& to) { to.task.tags.clear(), to.task.queue = QueueNumber{7}; });
}

TEST(Answers, statistics_and_settings_become_one_view) {
  QueueView view{.queue = {.settings = test::queue("q", {.number = QueueNumber{4}}),
                           .created_at = t0,
                           .updated_at = t0}};
  view.counts.queue = "q", view.counts.number = QueueNumber{4}, view.counts.oldest = t0;
  view.counts.by[1] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  view.counts.by[7][default_priority] = 3;
  view.stats = {.since = t0, .put = 1, .taken = 2, .completed = 3, .failed = 4, .retried = 5};
  view.stats.snoozed = 6, view.stats.given_back = 7, view.stats.lost = 8;
  view.stats.cancelled = 9, view.stats.mean_run_seconds = 0.5;
  view.stats.mean_wait_seconds = 2, view.stats.put_rate = 1.25, view.stats.take_rate = 2.5;
  view.stats.fail_rate = 0.25, view.stats.retry_rate = 0.5;
  view.stats.finish_rate = 3.75, view.stats.last_asked = t0 + 1s;
  const auto one = queue_view_from(view_of(view), stats_of(view));
  ASSERT_TRUE(one) << one.error().message;
  QueueView other = view;
  other.queue.settings.name = "other";
  const auto all = queue_views_from(view_of("queues", {view, other}, false),
                                    view_of("queues", {other, view}, true));
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 2U);
  for (const QueueView& read : {one->front(), all->front()}) {
    EXPECT_EQ(read.queue, view.queue);
    EXPECT_EQ(read.counts, view.counts);
    EXPECT_EQ(stats_of(read), stats_of(view));
    EXPECT_EQ(read.stats.last_asked, t0 + 1s);
  }
  EXPECT_EQ(queue_views_from(view_of("queues", {view}, false), view_of("queues", {}, true))->size(),
            0U);
}

TEST(Answers, schedules_come_back_as_they_are_stored) {
  for (const std::string& payload : payloads) {
    Schedule schedule{.name = "nightly", .rule = {.cron = "0 3 * * *", .zone = "Europe/Berlin"}};
    schedule.task = {.queue = std::string("q"), .payload = payload, .delay = 5s};
    schedule.overlap = Overlap::allow, schedule.missed = Missed::all, schedule.missed_most = 3;
    schedule.jitter = 5s, schedule.paused = true, schedule.next = t0, schedule.last = t0 - 1h;
    schedule.last_task = test::fresh_id(), schedule.fired = 4, schedule.skipped = 5;
    schedule.created_at = t0, schedule.updated_at = t0;
    const auto read = schedule_from(view_of(schedule));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, schedule);
    EXPECT_EQ(schedules_from(view_of("schedules", {schedule, schedule})),
              (std::vector{schedule, schedule}));
    const auto sent = read_schedule(schedule_text(schedule), "nightly");
    ASSERT_TRUE(sent) << sent.error().error.message;
    EXPECT_EQ(sent->task, schedule.task);
    EXPECT_EQ(sent->rule, schedule.rule);
    EXPECT_EQ(sent->missed_most, 3U);
  }
}

TEST(Answers, problems_become_errors) {
  const auto error = [](std::string_view text) { return problem_from(text).value_or(Error{}); };
  EXPECT_EQ(error(R"({"title":"Not Found","status":404,"code":"not_found","detail":"no such"})"),
            (Error{ErrorCode::not_found, "no such"}));
  EXPECT_EQ(error(R"({"code":"limited","detail":"slowly","retry_after_ms":1500})"),
            (Error{ErrorCode::limited, "slowly", 1500ms}));
  EXPECT_EQ(error(R"({"code":"no_space","detail":"full"})"),
            (Error{ErrorCode::limited, "full", std::nullopt, true}));
  EXPECT_EQ(error(R"({"code":"starting","detail":"wait","retry_after_ms":1000})"),
            (Error{ErrorCode::unavailable, "wait"}));
  EXPECT_EQ(error(R"({"code":"stopping","detail":"x"})").code, ErrorCode::unavailable);
  EXPECT_EQ(error(R"({"code":"malformed","detail":"x"})").code, ErrorCode::invalid);
  EXPECT_EQ(error(R"({"code":"not_completed","detail":"x"})").code, ErrorCode::conflict);
  EXPECT_EQ(error(R"({"code":"of_the_future"})"),
            (Error{ErrorCode::invalid, "the server says of_the_future"}));
  for (const char* each : {"", "{}", "[]", "<html>", R"({"code":5})", R"({"detail":"x"})"}) {
    EXPECT_FALSE(problem_from(each)) << each;
  }
}

TEST(Answers, keys_of_newer_servers_are_passed_over) {
  const auto put = put_from(
      R"({"id":"01890a5d-ac96-774b-bcce-b302099a8058","new":[{"x":1}],"number":4,"state":null})");
  ASSERT_TRUE(put) << put.error().message;
  EXPECT_EQ(put->number, TaskNumber{4});
  EXPECT_EQ(put->state, std::nullopt);
}

TEST(Answers, what_cannot_be_read_is_told) {
  EXPECT_EQ(put_from("{}").error().code, ErrorCode::unavailable);
  EXPECT_THAT(put_from("<html>").error().message, HasSubstr("the answer cannot be read: not JSON"));
  EXPECT_THAT(puts_from(R"({"tasks":[]})", 2).error().message, HasSubstr("2 tasks were put"));
  EXPECT_THAT(task_from("{}").error().message, HasSubstr("id is missing"));
  EXPECT_THAT(page_from(R"({"tasks":[],"next":"12x"})").error().message, HasSubstr("next"));
  EXPECT_THAT(state_from(R"({"state":"odd"})").error().message, HasSubstr("odd"));
  EXPECT_FALSE(work_from(R"({"settled":[{}],"tasks":[]})", {.reports = 1}));
  EXPECT_FALSE(work_from(R"({"extended":[{}],"tasks":[]})", {.extensions = 1}));
  EXPECT_FALSE(work_from("{}", {.take = true}));
  std::string many = R"({"workers":[{"name":"w"})";
  for (int i = 0; i < 100'000; ++i) many += R"(,{"name":"w"})";
  EXPECT_THAT(workers_from(many + "]}").error().message, HasSubstr("more than 100000"));
}

}  // namespace
}  // namespace millrace::wire
