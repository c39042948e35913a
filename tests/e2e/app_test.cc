// One program over every kind of URL: it behaves the same.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <millrace/app.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/server.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {
namespace {

using ::testing::Contains;
using ::testing::SizeIs;
using namespace std::chrono_literals;

struct Email {
  std::string to;
  std::string subject;
};
MILLRACE_FIELDS(Email, to, subject)

template <class T>
T must(Result<T> result) {
  if (!result) throw Failure(result.error());
  return std::move(*result);
}
void must(const Result<void>& result) {
  if (!result) throw Failure(result.error());
}

class AppEverywhere : public ::testing::TestWithParam<const char*> {
 protected:
  AppEverywhere() {
    const std::string kind = GetParam();
    if (kind == "http") {
      server_ =
          std::make_unique<ServerProcess>(std::vector<std::string>{"--store", directory_ / "data"});
      if (!server_->ready()) throw std::runtime_error(server_->said());
      url_ = fmt::format("http://127.0.0.1:{}", server_->port());
    } else {
      url_ = kind == "journal" ? "journal:" + (directory_ / "data") : "memory:";
    }
    app_ =
        std::make_unique<App>(url_, AppOptions{.idle = 200ms, .log = [this](std::string_view line) {
                                                 const std::scoped_lock lock(mutex_);
                                                 log_ += std::string(line) + "\n";
                                               }});
  }

  void note(std::string word) {
    const std::scoped_lock lock(mutex_);
    seen_.push_back(std::move(word));
    changed_.notify_all();
  }
  // Until the word was noted; every wait has a limit.
  bool sees(const std::string& word) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s,
                             [&] { return std::ranges::find(seen_, word) != seen_.end(); });
  }
  TaskState end_of(const TaskId& id) { return must(app_->client().await(id, 30s)).state; }

  TemporaryDirectory directory_;
  std::unique_ptr<ServerProcess> server_;
  std::string url_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> seen_;
  std::string log_;
  std::unique_ptr<App> app_;
};

const RetryRules quick{.base = 10ms, .jitter = Jitter::none, .max_retries = 2};

// S0-186, S0-187, S0-188
TEST_P(AppEverywhere, puts_works_retries_and_gives_up) {
  std::atomic<int> tries = 0;
  HandlerOptions options{.concurrency = 2, .timeout = 30s, .retry = quick};
  options.on_requeued = [&](const TaskEvent& event) { note("requeued " + event.error()->message); };
  options.on_dead = [&](const TaskEvent& event) { note("dead " + event.task.type); };
  const auto emails =
      app_->handle<Email>("emails", options, [&](const Email& email, Context& task) -> Outcome {
        if (email.to == "nobody") throw std::runtime_error("no such user");
        if (email.to == "shy" && ++tries < 3) return Failed{{.message = "not yet"}};
        task.progress(50);
        task.log("sent to " + email.to);
        must(task.put("log", email));
        return Done{R"({"ok":true})"};
      });
  app_->handle<Email>("log", [&](const Email& email) { note("logged " + email.to); });
  must(app_->start());
  const Put good = emails({"ann", "hi"}, {.type = "greeting", .priority = 8, .delay = 20ms});
  const Put shy = emails({"shy", "hi"});
  const Put dead = emails({"nobody", "hi"}, {.type = "letter"});
  EXPECT_EQ(end_of(good.id), TaskState::completed);
  EXPECT_EQ(end_of(shy.id), TaskState::completed);
  EXPECT_EQ(end_of(dead.id), TaskState::dead);
  EXPECT_TRUE(sees("logged ann"));
  EXPECT_TRUE(sees("dead letter"));
  EXPECT_TRUE(sees("requeued not yet"));
  const Task task = must(app_->client().find(good.id));
  EXPECT_EQ(task.result, R"({"ok":true})");
  EXPECT_EQ(task.progress, 50);
  ASSERT_THAT(task.log, SizeIs(1));
  EXPECT_EQ(task.log[0].text, "sent to ann");
  EXPECT_EQ(task.priority, 8);
  EXPECT_EQ(must(app_->client().find(shy.id)).counters.retries, 2U);
  EXPECT_THAT(must(app_->client().dead({.queue = "emails", .type = "letter"})), SizeIs(1));
  EXPECT_EQ(must(app_->client().clear_dead({.queue = "emails"})), 1U);
  EXPECT_EQ(app_->stop(), 0) << log_;
}

TEST_P(AppEverywhere, batches_schedules_pauses_and_cancellation) {
  app_->every(1s, "tick", [&] { note("tick"); });
  const auto views =
      app_->handle_batch<Email>("views", {.batch_size = 10}, [&](std::span<Item<Email>> items) {
        for (auto& item : items) {
          note("view " + item.payload.to);
        }
      });
  const auto slow = app_->handle<Email>("slow", {.lease = 3s}, [&](const Email&, Context& task) {
    note("running");
    EXPECT_FALSE(task.wait_for(60s));
    note(task.stop_reason() == StopReason::cancelled ? "cancelled" : "another reason");
    throw std::runtime_error("stopped");
  });
  must(app_->start());
  for (int i = 0; i < 25; ++i) views({std::to_string(i), ""});
  EXPECT_TRUE(sees("view 24"));
  EXPECT_TRUE(sees("tick"));
  const Put put = slow({"a", "b"});
  EXPECT_TRUE(sees("running"));
  EXPECT_EQ(must(app_->client().cancel(put.id, "changed my mind")), TaskState::processing);
  EXPECT_TRUE(sees("cancelled"));
  EXPECT_EQ(end_of(put.id), TaskState::cancelled);
  must(app_->client().pause("views", 1h));
  views({"late", ""});
  EXPECT_EQ(must(app_->client().counts("views")).ready(), 1U);
  must(app_->client().resume("views"));
  EXPECT_TRUE(sees("view late"));
  EXPECT_EQ(app_->stop(), 0) << log_;
}

// S1-007, S1-069, C-13
TEST_P(AppEverywhere, a_handler_that_acknowledges_itself_is_told_what_is_stored) {
  const auto emails = app_->handle<Email>(
      "emails", {.acknowledge = Acknowledge::manual}, [&](const Email&, Context& task) {
        const auto state = task.settle(Done{"1"});
        note(state && *state == TaskState::completed ? "stored" : "not stored");
        note(task.settle(Done{"2"}) ? "twice" : "once");
      });
  must(app_->start());
  const Put put = emails({"a", "b"});
  EXPECT_TRUE(sees("stored"));
  EXPECT_TRUE(sees("once"));
  EXPECT_EQ(must(app_->client().find(put.id)).result, "1");
  EXPECT_EQ(app_->stop(), 0) << log_;
}

INSTANTIATE_TEST_SUITE_P(all, AppEverywhere, ::testing::Values("memory", "journal", "http"),
                         [](const auto& each) { return std::string(each.param); });

// A port that was free a moment ago.
std::uint16_t free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, generic, size) != 0) return 0;
  getsockname(listener, generic, &size);
  close(listener);
  return ntohs(address.sin_port);
}

// S2-046, S2-047
TEST(AppOverHttp, waits_for_a_server_that_is_not_there_yet) {
  const TemporaryDirectory directory;
  const std::string address = fmt::format("127.0.0.1:{}", free_port());
  std::promise<void> ran;
  std::promise<void> missed;
  std::atomic<bool> told = false;
  App app("http://" + address, {.server_wait = 0ms,
                                .idle = 200ms,
                                .error_pause = 50ms,
                                .longest_pause = 100ms,
                                .log = [&](std::string_view line) {
                                  const bool away = line.find("again_in_ms") != line.npos;
                                  if (away && !told.exchange(true)) missed.set_value();
                                }});
  const auto emails = app.handle<Email>("emails", [&](const Email&) { ran.set_value(); });
  int code = -1;
  std::thread runner([&] { code = app.run(); });
  EXPECT_EQ(missed.get_future().wait_for(30s), std::future_status::ready);
  ServerProcess server({"--no-listen", "--store", directory / "data", "--listen", address});
  EXPECT_TRUE(server.ready()) << server.said();
  EXPECT_TRUE(emails.put({"ann", "hi"}));
  EXPECT_EQ(ran.get_future().wait_for(60s), std::future_status::ready);
  app.shutdown();
  runner.join();
  EXPECT_EQ(code, 0);
}

TEST(AppOverHttp, a_put_before_run_waits_for_the_server_as_well) {
  const TemporaryDirectory directory;
  const std::string address = fmt::format("127.0.0.1:{}", free_port());
  std::promise<void> missed;
  std::thread program([&] {
    App app("http://" + address, {.log = [&](std::string_view line) {
              if (line.find("waits_ms") != line.npos) missed.set_value();
            }});
    const auto emails = app.handle<Email>("emails", [](const Email&) {});
    EXPECT_TRUE(emails.put({"ann", "hi"}));
  });
  missed.get_future().wait();
  ServerProcess server({"--no-listen", "--store", directory / "data", "--listen", address});
  EXPECT_TRUE(server.ready()) << server.said();
  program.join();
}

}  // namespace
}  // namespace millrace::test
