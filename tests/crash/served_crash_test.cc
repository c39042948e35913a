// The real server under load over HTTP, killed with SIGKILL again and again: what it acknowledged
// is there, leases live on, and workers that outlived it settle the leases they hold.
//
//   crash_test --kills=300 --gtest_filter='*ServedCrash*'
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/uuid.h"
#include "disk/real_disk.h"
#include "store/embedded/journal/journal.h"
#include "store/postgres/postgres.h"
#include "store/store.h"
#include "tests/crash/facts.h"
#include "tests/crash/ledger.h"
#include "tests/e2e/server.h"
#include "tests/random/dice.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {

extern int kills;

namespace {

namespace json = boost::json;

// The ledger of all workers, and how many facts they have noted in this life.
class Facts {
 public:
  void note(const std::string& line) {
    const std::lock_guard lock(mutex_);
    ledger_.note(line);
    ++noted_;
    changed_.notify_one();
  }
  // Waits until so many facts were noted since the last time, or something was wrong.
  void wait_for(std::uint32_t facts) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return noted_ >= facts || !ledger_.complaint().empty(); });
    noted_ = 0;
  }
  Ledger& ledger() { return ledger_; }  // while no worker runs

 private:
  std::mutex mutex_;
  Ledger ledger_;
  std::condition_variable changed_;
  std::uint32_t noted_ = 0;
};

// Lives through the deaths of the server, with the leases it holds.
class HttpWorker {
 public:
  HttpWorker(Facts& facts, std::uint64_t seed) : facts_(facts), dice_(seed), ids_(seed) {}

  // Until the server does not answer any more.
  void work_on(const ServerProcess& server) {
    RawClient client = server.connect();
    while (dice_.below(100) < 35 ? put(client) : work(client)) {
    }
  }

 private:
  // nullopt: no whole answer came.
  std::optional<json::value> ask(RawClient& client, std::string path, std::string body) {
    const Reply reply =
        client.ask(bytes_of({.method = "POST", .path = std::move(path), .body = std::move(body)}));
    boost::system::error_code error;
    json::value answer = json::parse(reply.body, error);
    if (reply.status == 0 || error) return std::nullopt;
    if (reply.status != 200) {
      facts_.note(fmt::format("wrong answer {}: {}", reply.status, reply.body));
      return std::nullopt;
    }
    return answer;
  }

  bool put(RawClient& client) {
    std::string body;
    std::vector<std::string> names;
    const auto count = dice_.between(1U, 6U);
    for (std::uint32_t i = 0; i < count; ++i) {
      const TaskId id{ids_.next(clock_.now())};
      names.push_back(to_text(id.value));
      body += fmt::format(R"({}{{"id":"{}","queue":"{}","priority":{},"payload_text":"{}"}})",
                          i == 0 ? "" : ",", names.back(),
                          crash_queues.at(dice_.below(crash_queues.size())), dice_.below(10),
                          payload_of(id));
    }
    const auto answer = ask(client, "/v1/tasks", "[" + body + "]");
    if (!answer) return false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool there = answer->at("tasks").at(i).as_object().contains("id");
      facts_.note(there ? "put " + names[i] : "wrong " + names[i] + " was not put");
    }
    return true;
  }

  struct Held {
    std::string id;
    std::string token;
  };

  bool work(RawClient& client) {
    std::string settle;
    std::vector<std::string> names;
    while (!held_.empty() && dice_.percent(80)) {
      const Held lease = std::move(held_.front());
      held_.pop_front();
      const bool done = dice_.percent(70);
      names.push_back(fmt::format("{} {} {}", lease.id, lease.token, done ? "done" : "give_back"));
      settle += fmt::format(
          R"({}{{"id":"{}","token":"{}","outcome":"{}"{}}})", settle.empty() ? "" : ",", lease.id,
          lease.token, done ? "done" : "give_back",
          done ? fmt::format(R"(,"result_text":"{}")", result_of(*task_id_from_text(lease.id)))
               : "");
    }
    for (const auto& name : names) facts_.note("settling " + name);
    const auto answer =
        ask(client, "/v1/work",
            fmt::format(R"({{"worker":"w","settle":[{}],"take":{{"queues":[{{"queue":"{}",)"
                        R"("most":2}},{{"queue":"{}","most":2}}],"lease_ms":3600000}}}})",
                        settle, crash_queues[0], crash_queues[1]));
    if (!answer) return false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto& settled = answer->at("settled").at(i).as_object();
      const bool applied = settled.contains("status") && settled.at("status") == "applied";
      facts_.note((applied ? "settled " : "wrong not applied ") + names[i]);
    }
    for (const auto& lease : answer->at("tasks").as_array()) take(lease);
    return true;
  }

  void take(const json::value& lease) {
    Held held{.id = lease.at("id").as_string().c_str(),
              .token = lease.at("token").as_string().c_str()};
    if (lease.at("payload_text").as_string() != payload_of(*task_id_from_text(held.id))) {
      facts_.note("wrong payload of " + held.id);
    }
    facts_.note("taken " + held.id + " " + held.token);
    held_.push_back(std::move(held));
  }

  Facts& facts_;
  SystemClock clock_;
  Dice dice_;
  UuidSource ids_;
  std::deque<Held> held_;
};

// The store that the server serves, and how the test reads it while no server runs.
class CrashedStore {
 public:
  explicit CrashedStore(bool database) {
    if (!database) return;
    postgres_ = std::make_unique<PostgresServer>(PostgresOptions{.settings = quick_settings()});
  }

  std::string url() const { return postgres_ ? postgres_->url() : directory_.path(); }

  Result<std::unique_ptr<Store>> open() {
    if (!postgres_) {
      auto disk = open_directory(directory_.path(), DirectoryMode::make);
      if (!disk) return std::unexpected(disk.error());
      return open_journal(std::move(*disk), {.hash_seed = 1});
    }
    // Sessions of a dead process finish their statement before they notice.
    while (postgres_->run_sql("select count(*) from pg_stat_activity where application_name like "
                              "'millrace%'") != "0\n") {
      std::this_thread::yield();
    }
    return open_postgres({.url = url()}, clock_);
  }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<PostgresServer> postgres_;
  SystemClock clock_;
};

class ServedCrash : public ::testing::TestWithParam<bool> {
 protected:
  void live(std::uint32_t facts) {
    ServerProcess server({"--store", store_.url()});
    ASSERT_TRUE(server.ready()) << server.said();
    std::vector<std::thread> threads;
    for (auto& worker : workers_) threads.emplace_back([&] { worker.work_on(server); });
    facts_.wait_for(facts);
    server.signal(SIGKILL);
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(server.exit(), 128 + SIGKILL) << server.said();
  }

  void check() {
    auto store = store_.open();
    ASSERT_TRUE(store) << store.error().message;
    facts_.ledger().check(**store, true, SystemClock().now());
    const auto flushed = (*store)->flush();
    ASSERT_TRUE(flushed) << flushed.error().message;
    ASSERT_EQ(facts_.ledger().complaint(), "");
  }

  CrashedStore store_{GetParam()};
  Facts facts_;
  std::deque<HttpWorker> workers_;
};

TEST_P(ServedCrash, nothing_the_server_acknowledged_is_lost) {
  Dice dice(std::random_device{}());
  for (std::uint64_t i = 0; i < 4; ++i) workers_.emplace_back(facts_, dice.below(1U << 30U));
  for (int life = 1; life <= kills; ++life) {
    SCOPED_TRACE("life " + std::to_string(life));
    // The first one gets something done.
    ASSERT_NO_FATAL_FAILURE(live(dice.between(life == 1 ? 400U : 10U, 800U)));
    ASSERT_NO_FATAL_FAILURE(check());
  }
  const Ledger& ledger = facts_.ledger();
  std::cout << kills << " kills: " << ledger.tasks() << " tasks, " << ledger.taken() << " leases, "
            << ledger.completed() << " completed\n";
  EXPECT_GT(ledger.completed(), 0U);
}

INSTANTIATE_TEST_SUITE_P(On, ServedCrash, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "postgres" : "journal"; });

}  // namespace
}  // namespace millrace::test
