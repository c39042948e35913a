// Settings of queues and schedules that are changed through several real servers on one PostgreSQL
// at the same time: each change takes effect or is answered with a conflict, and undoes no other.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "tests/e2e/fault_cluster.h"

namespace millrace::test {
namespace {

using namespace std::chrono_literals;

class PostgresEdits : public ::testing::Test {
 protected:
  static const ServerProcess& server(std::size_t at) {
    return FaultCluster::get().servers().at(at);
  }
  static std::string run_sql(const std::string& text) {
    return FaultCluster::get().postgres().run_sql(text);
  }
  static Reply post(std::size_t at, const std::string& path, const std::string& body) {
    return server(at).ask({.method = "POST", .path = path, .body = body});
  }
  static Reply patch(std::size_t at, const std::string& path, const std::string& body) {
    return server(at).ask({.method = "PATCH", .path = path, .body = body});
  }

  // All at once, each again and again until the time is over.
  void all_edit(Duration time, const std::vector<std::function<void()>>& editors) {
    const auto until = clock_.steady() + time;
    std::vector<std::thread> threads;
    for (const auto& editor : editors) {
      threads.emplace_back([&] {
        while (clock_.steady() < until) editor();
      });
    }
    for (std::thread& each : threads) each.join();
  }
  // Goes on until that was enough: a slow machine needs more time for it than a fast one.
  void all_edit_until(const std::function<bool()>& enough,
                      const std::vector<std::function<void()>>& editors) {
    const auto until = clock_.steady() + 60s;
    do {
      all_edit(3s, editors);
    } while (!enough() && clock_.steady() < until);
  }

  SystemClock clock_;
};

// Changes a number among the settings of a queue through one server, and looks through another.
class Editor {
 public:
  Editor(const ServerProcess& writes, const ServerProcess& reads, std::string field)
      : writes_(writes), reads_(reads), field_(std::move(field)) {}

  void edit() {
    expect_stored("before the next change");
    const std::string value = fmt::format("{}", 1 + tries_++ % 900);
    const Reply reply = writes_.ask(
        {.method = "PATCH", .path = path, .body = fmt::format(R"({{"{}":{}}})", field_, value)});
    if (reply.status == 200) {
      stored_ = value;
      ++changes_;
    } else {
      EXPECT_EQ(reply.status, 409U) << reply.body;
      ++conflicts_;
    }
    expect_stored("after it");
  }
  void expect_stored(const char* when) const {
    if (stored_.empty()) return;
    const Reply reply = reads_.ask({.path = path});
    EXPECT_EQ(field(reply.body, field_), stored_) << field_ << " " << when;
  }
  std::size_t changes() const { return changes_; }
  std::size_t conflicts() const { return conflicts_; }

  static constexpr const char* path = "/v1/queues/edited";

 private:
  const ServerProcess& writes_;
  const ServerProcess& reads_;
  const std::string field_;
  std::string stored_;  // what the last good answer says
  std::size_t tries_ = 0;
  std::size_t changes_ = 0;
  std::size_t conflicts_ = 0;
};

TEST_F(PostgresEdits, changes_of_a_queue_through_several_servers_do_not_undo_each_other) {
  ASSERT_EQ(post(0, "/v1/queues", R"({"name":"edited"})").status, 201U);
  Editor one(server(0), server(1), "batch_size");
  Editor two(server(1), server(2), "max_depth");
  Editor three(server(2), server(0), "max_concurrent");
  const auto enough = [&] {
    return std::min({one.changes(), two.changes(), three.changes()}) > 5;
  };
  all_edit_until(enough, {[&] { one.edit(); }, [&] { two.edit(); }, [&] { three.edit(); }});
  for (const Editor* each : {&one, &two, &three}) {
    each->expect_stored("in the end");
    EXPECT_GT(each->changes(), 5U);
    EXPECT_LT(each->conflicts(), each->changes());
    fmt::print("{} changes, {} conflicts\n", each->changes(), each->conflicts());
  }
}

// Tries to create the same through all servers at once, each with its own number as a setting.
class Race {
 public:
  using Body = std::function<std::string(std::size_t number)>;

  Race(std::string path, const std::string& name, const Body& body)
      : path_(std::move(path)), name_(name) {
    std::vector<std::thread> threads;
    for (std::size_t at = 0; at < replies_.size(); ++at) {
      threads.emplace_back([&, at] {
        const ServerProcess& server = FaultCluster::get().servers().at(at);
        replies_[at] = server.ask({.method = "POST", .path = path_, .body = body(at + 1)});
      });
    }
    for (std::thread& each : threads) each.join();
  }
  // One was told 201, with what is stored now, and the others 409.
  void expect_one_winner(std::string_view setting) const {
    const Reply found =
        FaultCluster::get().servers().front().ask({.path = fmt::format("{}/{}", path_, name_)});
    std::size_t winners = 0;
    for (std::size_t at = 0; at < replies_.size(); ++at) {
      if (replies_[at].status == 409) continue;
      ++winners;
      EXPECT_EQ(replies_[at].status, 201U) << replies_[at].body;
      EXPECT_EQ(field(found.body, setting), fmt::format("{}", at + 1)) << name_;
    }
    EXPECT_EQ(winners, 1U) << name_;
  }

 private:
  const std::string path_;
  const std::string name_;
  std::array<Reply, 3> replies_;
};

TEST_F(PostgresEdits, of_several_servers_one_creates_a_queue_or_a_schedule) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("made-{}", i);
    const Race queue("/v1/queues", name, [&](std::size_t number) {
      return fmt::format(R"({{"name":"{}","batch_size":{}}})", name, number);
    });
    queue.expect_one_winner("batch_size");
    const Race schedule("/v1/schedules", name, [&](std::size_t number) {
      return fmt::format(R"({{"name":"{0}","rule":{{"every_ms":3600000}},)"
                         R"("task":{{"queue":"{0}"}},"missed_most":{1}}})",
                         name, number);
    });
    schedule.expect_one_winner("missed_most");
  }
}

constexpr const char* ticking = "/v1/schedules/ticking";

// How many tasks ticks have put, for how many ticks, and how many ticks there were from the first
// to the last.
std::string count_ticks(std::string_view queue) {
  return fmt::format(
      "select count(*), count(distinct at), (max(at) - min(at)) / 200 + 1 from (select "
      "(millrace.as_json(t.payload)->>'at')::bigint as at from millrace.tasks t "
      "join millrace.queues q using (queue) where q.name = '{}') ticks",
      queue);
}

std::size_t ticks_of(std::string_view queue) {
  return std::stoul(FaultCluster::get().postgres().run_sql(count_ticks(queue)));
}

TEST_F(PostgresEdits, a_schedule_that_is_edited_while_it_fires_fires_each_tick_once) {
  ASSERT_EQ(post(0, "/v1/schedules",
                 R"({"name":"ticking","rule":{"every_ms":200},"overlap":"allow","missed":"all",
                     "missed_most":1000,"task":{"queue":"ticked","payload":{"at":"{{tick_ms}}"}}})")
                .status,
            201U);
  std::atomic<std::size_t> edits = 0;
  const auto edit = [&](std::size_t at, const std::string& change) {
    const Reply reply = patch(at, ticking, change);
    EXPECT_THAT(reply.status, ::testing::AnyOf(200U, 409U)) << reply.body;
    if (reply.status == 200) ++edits;
  };
  // Whatever leaves the ticks as they are: none is lost, either.
  all_edit_until(
      [&] { return ticks_of("ticked") > 15 && edits > 40; },
      {[&] { edit(0, R"({"task":{"type":"a"}})"), edit(0, R"({"task":{"type":"b"}})"); },
       [&] { edit(1, R"({"task":{"priority":1}})"), edit(1, R"({"task":{"priority":2}})"); }});
  ASSERT_EQ(server(2).ask({.method = "DELETE", .path = ticking}).status, 204U);
  const std::string found = run_sql(count_ticks("ticked"));
  const std::string ticks = found.substr(0, found.find('|'));
  EXPECT_EQ(found, fmt::format("{0}|{0}|{0}\n", ticks));
  EXPECT_GT(std::stoul(ticks), 15U);
  EXPECT_GT(edits.load(), 40U);
  fmt::print("{} ticks, {} edits\n", ticks, edits.load());
}

TEST_F(PostgresEdits, a_tick_does_not_come_back_with_another_rule_or_after_a_pause) {
  ASSERT_EQ(post(0, "/v1/schedules",
                 R"({"name":"ticking","rule":{"every_ms":200},"overlap":"allow",
                     "task":{"queue":"changing","payload":{"at":"{{tick_ms}}"}}})")
                .status,
            201U);
  const auto edit = [&](std::size_t at, const std::string& change) {
    const Reply reply = patch(at, ticking, change);
    EXPECT_THAT(reply.status, ::testing::AnyOf(200U, 409U)) << reply.body;
  };
  all_edit_until(
      [&] { return ticks_of("changing") > 5; },
      {[&] { edit(0, R"({"rule":{"every_ms":100}})"), edit(1, R"({"rule":{"every_ms":200}})"); },
       [&] { edit(2, R"({"paused":true})"), edit(1, R"({"paused":false})"); }});
  ASSERT_EQ(server(2).ask({.method = "DELETE", .path = ticking}).status, 204U);
  const std::string found = run_sql(count_ticks("changing"));
  const std::string ticks = found.substr(0, found.find('|'));
  EXPECT_THAT(found, ::testing::StartsWith(fmt::format("{0}|{0}|", ticks)));
  EXPECT_GT(std::stoul(ticks), 5U);
}

}  // namespace
}  // namespace millrace::test
