// Requests that make no sense: queues, schedules, takes, extensions, settlements, pages, batches.
#include <gmock/gmock.h>
#include <cmath>
#include <limits>

#include "core/limits.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;

std::string text(std::size_t bytes) {
  return std::string(bytes, 'x');
}

template <class Request>
struct Bad {
  std::string what;
  Request request;
  std::string allowed;  // what the message must mention
  ErrorCode code = ErrorCode::invalid;
};

// ---- Queues ------------------------------------------------------------------------------------

std::vector<Bad<QueueSettings>> bad_queues() {
  std::vector<TypePolicy> many_types;
  for (int i = 0; i <= 100; ++i) many_types.push_back({.type = "t" + std::to_string(i)});
  return {
      {"empty name", queue(""), "1 to 100"},
      {"name of 101", queue(text(101)), "1 to 100"},
      {"bad character", queue("a b"), "A-Z a-z 0-9 . _ : -"},
      {"negative number", queue("n", {.number = QueueNumber{-1}}), "0"},
      {"description", queue("n", {.description = text(1025)}), "1024", ErrorCode::too_large},
      {"priority 10", queue("n", {.priority = 10}), "0 to 9"},
      {"weight 0", queue("n", {.weight = 0}), "1 to 1000"},
      {"weight 1001", queue("n", {.weight = 1001}), "1 to 1000"},
      {"rate of 0", queue("n", {.put_rate = Rate{0, 1s}}), "1"},
      {"rate per 0", queue("n", {.process_rate = Rate{1, 0s}}), "1"},
      {"rate per over a day", queue("n", {.process_rate = Rate{1, 25h}}), "1d"},
      {"ageing 0", queue("n", {.ageing = 0s}), "ageing"},
      {"lease below 1 s", queue("n", {.lease = 999ms}), "1s"},
      {"lease over 12 h", queue("n", {.lease = 12h + 1ms}), "12h"},
      {"timeout 0", queue("n", {.timeout = 0s}), "timeout"},
      {"batch size 0", queue("n", {.batch_size = 0}), "1 to 1000"},
      {"batch size 1001", queue("n", {.batch_size = 1001}), "1 to 1000"},
      {"retry factor", queue("n", {.retry = {.factor = std::nan("")}}), "factor"},
      {"101 types", queue("n", {.types = many_types}), "100", ErrorCode::too_large},
      {"bad type name", queue("n", {.types = {{.type = "a b"}}}), "A-Z a-z 0-9 . _ : -"},
      {"negative retention", queue("n", {.keep_completed = {.for_time = -1s}}), "10 years"},
  };
}

TEST_P(StoreConformance, bad_queue_settings_are_refused_say_what_is_allowed_and_change_nothing) {
  make_queue("n");
  for (const auto& bad : bad_queues()) {
    for (const PutQueue mode : {PutQueue::create, PutQueue::replace}) {
      expect_unchanged([&] {
        EXPECT_THAT(store().put_queue(bad.request, mode, now),
                    FailsWith(bad.code, HasSubstr(bad.allowed)))
            << bad.what;
      });
    }
  }
}

// ---- Schedules ---------------------------------------------------------------------------------

TEST_P(StoreConformance, bad_schedules_are_refused_say_what_is_allowed_and_change_nothing) {
  const NewTask ticked{.queue = "q"};
  const std::vector<Bad<Schedule>> all = {
      {"bad name", {.name = "a b", .rule = {.every = 1s}, .task = ticked}, "A-Z a-z 0-9 . _ : -"},
      {"no rule", {.name = "s", .task = ticked}, "either"},
      {"two rules",
       {.name = "s", .rule = {.cron = "* * * * *", .every = 1s}, .task = ticked},
       "either"},
      {"too often", {.name = "s", .rule = {.every = 99ms}, .task = ticked}, "100ms"},
      {"negative interval", {.name = "s", .rule = {.every = -1s}, .task = ticked}, "100ms"},
      {"a start of its own",
       {.name = "s", .rule = {.every = 1s}, .task = NewTask{.queue = "q", .start = t0}},
       "delay"},
      {"bad task",
       {.name = "s", .rule = {.every = 1s}, .task = NewTask{.queue = "q", .priority = 10}},
       "0 to 9"},
      {"negative jitter",
       {.name = "s", .rule = {.every = 1s}, .task = ticked, .jitter = -1s},
       "jitter"},
  };
  for (const auto& bad : all) {
    expect_unchanged([&] {
      EXPECT_THAT(store().put_schedule(bad.request, PutSchedule::replace, now),
                  FailsWith(bad.code, HasSubstr(bad.allowed)))
          << bad.what;
    });
  }
}

// ---- Take, extend, settle ----------------------------------------------------------------------

TEST_P(StoreConformance, bad_takes_are_refused_say_what_is_allowed_and_change_nothing) {
  put(task("q"));
  const std::vector<Bad<TakeRequest>> all = {
      {"no queue", {.worker = "w", .queues = {}}, "one"},
      {"most 0", {.worker = "w", .queues = {{.queue = "q", .most = 0}}}, "1 to 1000"},
      {"most 1001", {.worker = "w", .queues = {{.queue = "q", .most = 1001}}}, "1 to 1000"},
      {"bad queue name", {.worker = "w", .queues = {{.queue = "a b"}}}, "A-Z a-z 0-9 . _ : -"},
      {"lease below 1 s",
       {.worker = "w", .queues = {{.queue = "q"}}, .lease = Duration(999)},
       "1s"},
      {"lease over 12 h", {.worker = "w", .queues = {{.queue = "q"}}, .lease = 12h + 1ms}, "12h"},
      {"negative lease", {.worker = "w", .queues = {{.queue = "q"}}, .lease = Duration(-1)}, "1s"},
      {"worker of 256",
       {.worker = text(256), .queues = {{.queue = "q"}}},
       "255",
       ErrorCode::too_large},
  };
  for (const auto& bad : all) {
    expect_unchanged([&] {
      EXPECT_THAT(try_take(bad.request), FailsWith(bad.code, HasSubstr(bad.allowed))) << bad.what;
    });
  }
}

TEST_P(StoreConformance, bad_extensions_are_refused_say_what_is_allowed_and_change_nothing) {
  put(task("q"));
  const Lease lease = take_one("q");
  const Extension good{.id = lease.id, .token = lease.token};
  const auto with_progress = [&](double progress) {
    Extension extension = good;
    extension.progress = progress;
    return extension;
  };
  const auto with_log = [&](std::vector<std::string> log) {
    Extension extension = good;
    extension.log = std::move(log);
    return extension;
  };
  const auto with_lease = [&](Duration duration) {
    Extension extension = good;
    extension.lease = duration;
    return extension;
  };
  const std::vector<Bad<Extension>> all = {
      {"negative progress", with_progress(-0.1), "0 to 100"},
      {"progress over 100", with_progress(100.1), "0 to 100"},
      {"progress not a number", with_progress(std::nan("")), "0 to 100"},
      {"lease below 1 s", with_lease(999ms), "1s"},
      {"lease over 12 h", with_lease(12h + 1ms), "12h"},
      {"101 lines", with_log(std::vector<std::string>(101, "x")), "100", ErrorCode::too_large},
      {"line over 2 KiB", with_log({text(2049)}), "2048", ErrorCode::too_large},
  };
  for (const auto& bad : all) {
    expect_unchanged([&] {
      EXPECT_THAT(try_extend(bad.request), FailsWith(bad.code, HasSubstr(bad.allowed))) << bad.what;
    });
  }
}

TEST_P(StoreConformance, oversized_settlements_are_refused_say_what_is_allowed_and_change_nothing) {
  put(task("q"));
  const Lease lease = take_one("q");
  TaskError long_stack = error("x");
  long_stack.stack = text(8 * limits::kib + 1);
  const NewTask heavy = task("q", {.payload = text(limits::mib)});
  std::vector<NewTask> too_heavy(16, heavy);
  too_heavy.push_back(task("q", {.payload = "x"}));
  const std::vector<Bad<Settlement>> all = {
      {"result over 1 MiB", done(lease, text(limits::mib + 1)), "1048576"},
      {"message over 8 KiB", failed(lease, error(text(8 * limits::kib + 1))), "8192"},
      {"stack over 8 KiB", failed(lease, long_stack), "8192"},
      {"code over 100", failed(lease, error("x", text(101))), "100"},
      {"33 follow-ups", with(done(lease), std::vector<NewTask>(33, task("q"))), "32"},
      {"follow-ups over 16 MiB", with(done(lease), too_heavy), "16777216"},
  };
  for (const auto& bad : all) {
    expect_unchanged([&] {
      EXPECT_THAT(try_settle(bad.request), FailsWith(ErrorCode::too_large, HasSubstr(bad.allowed)))
          << bad.what;
    });
  }
  EXPECT_EQ(settle(done(lease, text(limits::mib))), TaskState::completed);
}

TEST_P(StoreConformance, a_bad_cancel_is_refused) {
  const TaskId id = put(task("q")).id;
  const std::vector<NewTask> too_many(33, task("q"));
  expect_unchanged([&] {
    EXPECT_THAT(try_cancel({.id = id, .reason = text(8 * limits::kib + 1)}),
                FailsWith(ErrorCode::too_large, HasSubstr("8192")));
    EXPECT_THAT(try_cancel({.id = id, .follow_ups = too_many}),
                FailsWith(ErrorCode::too_large, HasSubstr("32")));
  });
}

TEST_P(StoreConformance, a_bad_update_is_refused) {
  const TaskId id = put(task("q")).id;
  expect_unchanged([&] {
    EXPECT_THAT(try_update({.id = id, .priority = 10}),
                FailsWith(ErrorCode::invalid, HasSubstr("0 to 9")));
    EXPECT_THAT(try_update({.id = id, .start = now + limits::max_delay + 1ms}),
                FailsWith(ErrorCode::invalid, HasSubstr("years")));
    EXPECT_THAT(try_update({.id = id, .start = never}), FailsWith(ErrorCode::invalid));
  });
}

// ---- Limits of pages and steps -----------------------------------------------------------------

TEST_P(StoreConformance, limits_of_pages_and_steps_say_what_is_allowed) {
  const auto invalid = [](const char* allowed) {
    return FailsWith(ErrorCode::invalid, HasSubstr(allowed));
  };
  expect_unchanged([&] {
    for (const std::uint32_t limit : {0U, 1001U}) {
      EXPECT_THAT(store().list({.limit = limit}), invalid("1 to 1000"));
      EXPECT_THAT(store().due(now, {.limit = limit}), invalid("1 to 1000"));
      EXPECT_THAT(store().recall({.limit = limit}, now), invalid("1 to 1000"));
    }
    for (const std::size_t limit : {std::size_t{0}, std::size_t{10'001}}) {
      EXPECT_THAT(store().advance(now, limit), invalid("1 to 10000"));
      EXPECT_THAT(store().clear("q", limit, now), invalid("1 to 10000"));
    }
  });
}

TEST_P(StoreConformance, a_list_by_a_priority_that_does_not_exist_is_invalid) {
  EXPECT_THAT(store().list({.priority = 10}), FailsWith(ErrorCode::invalid, HasSubstr("0 to 9")));
}

TEST_P(StoreConformance, bad_memos_are_refused_say_what_is_allowed_and_change_nothing) {
  must(store().remember({.key = "k", .value = "v"}, now));
  const std::vector<Bad<Remember>> all = {
      {"empty key", {.key = "", .value = "v"}, "255"},
      {"key of 256", {.key = text(256), .value = "v"}, "255", ErrorCode::too_large},
      {"value over 1 MiB",
       {.key = "k", .value = text(limits::mib + 1)},
       "1048576",
       ErrorCode::too_large},
      {"lifetime 0", {.key = "k", .value = "v", .lifetime = Duration::zero()}, "lifetime"},
      {"negative lifetime", {.key = "k", .value = "v", .lifetime = Duration(-1)}, "lifetime"},
  };
  for (const auto& bad : all) {
    expect_unchanged([&] {
      EXPECT_THAT(store().remember(bad.request, now), FailsWith(bad.code, HasSubstr(bad.allowed)))
          << bad.what;
    });
  }
}

// ---- Batches -----------------------------------------------------------------------------------

TEST_P(StoreConformance, a_batch_larger_than_the_traits_say_is_refused_whole) {
  const std::size_t most = store().traits().batch;
  put(task("q"));
  const Lease lease = take_one("q");
  const auto refused = FailsWith(ErrorCode::invalid, HasSubstr(std::to_string(most)));
  std::vector<NewTask> tasks;
  for (std::size_t i = 0; i <= most; ++i) tasks.push_back(task("q"));
  expect_unchanged([&] {
    EXPECT_THAT(store().put(tasks, now), refused);
    const std::vector<Settlement> settlements(most + 1, done(lease));
    const std::vector<Extension> extensions(most + 1, {.id = lease.id, .token = lease.token});
    const std::vector<TakeRequest> takes(most + 1, {.worker = "w", .queues = {{.queue = "q"}}});
    EXPECT_THAT(store().work(settlements, {}, {}, now), refused);
    EXPECT_THAT(store().work({}, extensions, {}, now), refused);
    EXPECT_THAT(store().work({}, {}, takes, now), refused);
    const std::vector<TaskId> ids(most + 1, lease.id);
    const std::vector<CancelRequest> cancels(most + 1, {.id = lease.id});
    const std::vector<TaskUpdate> updates(most + 1, {.id = lease.id});
    EXPECT_THAT(store().cancel(cancels, now), refused);
    EXPECT_THAT(store().retry(ids, now), refused);
    EXPECT_THAT(store().remove(ids, now), refused);
    EXPECT_THAT(store().update(updates, now), refused);
  });
  tasks.pop_back();
  EXPECT_EQ(put_all(tasks).size(), most);
}

}  // namespace
}  // namespace millrace::test
