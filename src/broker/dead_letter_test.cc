#include "broker/dead_letter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/limits.h"
#include "core/uuid.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// "q" sends its dead letters to "bin", and tries nothing again.
class DeadLetters : public ::testing::Test {
 protected:
  DeadLetters() {
    d.put_queue({.name = "bin"});
    d.put_queue(sending("q", "bin"));
  }
  static QueueSettings sending(const std::string& name, const std::string& to) {
    return {.name = name, .retry = {.max_retries = 0}, .dead_letter_queue = to};
  }
  TaskId put(NewTask fields = {}) {
    fields.queue = std::string("q");
    return d.put(std::move(fields)).id;
  }
  static Failed failure(bool retryable) {
    return {.error = {.code = "boom", .message = "no luck", .details = "d", .stack = "at line 7"},
            .retryable = retryable};
  }
  std::string only_payload() {
    const auto all = d.payloads("bin");
    EXPECT_THAT(all, SizeIs(1));
    return all.empty() ? "" : all.front();
  }

  BrokerDriver d;
};

// S3-060, S3-061
TEST_F(DeadLetters, a_task_that_is_dead_puts_a_task_that_says_what_became_of_it) {
  const TaskId id = put({.type = "mail",
                         .payload = R"({ "to" : "ann" })",
                         .priority = 8,
                         .client_id = "shop",
                         .request_id = "r-1",
                         .group = "g",
                         .metadata = R"({"m":1})",
                         .tags = {"t"}});
  d.pass(5s);
  EXPECT_EQ(d.settle(d.take_one("q"), failure(true)).state, TaskState::dead);
  const Task letter = d.all("bin").front();
  EXPECT_EQ(letter.type, "dead_letter");
  EXPECT_EQ(letter.state, TaskState::queued);
  EXPECT_EQ(letter.parent, id);
  EXPECT_EQ(letter.priority, 8);
  EXPECT_EQ(letter.client_id, "shop");
  EXPECT_EQ(letter.request_id, "r-1");
  EXPECT_EQ(letter.group, "g");
  EXPECT_EQ(letter.metadata, R"({"m":1})");
  EXPECT_THAT(letter.tags, ::testing::ElementsAre("t"));
  EXPECT_EQ(letter.payload,
            R"({"task":")" + to_text(id.value) +
                R"(","queue":"q","type":"mail","state":"dead","payload":{ "to" : "ann" },)"
                R"("error":{"code":"boom","message":"no luck","details":"d","stack":"at line 7",)"
                R"("failed_at":"2030-01-01T00:00:05.000Z"},)"
                R"("counters":{"deliveries":1,"attempts":0,"retries":0,"lost":0},)"
                R"("created_at":"2030-01-01T00:00:00.000Z",)"
                R"("finished_at":"2030-01-01T00:00:05.000Z"})");
  EXPECT_EQ(d.find(id).state, TaskState::dead) << "the task itself stays where it is";
}

TEST_F(DeadLetters, every_way_of_ending_badly_puts_one) {
  put();
  d.settle(d.take_one("q"), failure(false));
  EXPECT_THAT(d.payloads("bin").back(), HasSubstr(R"("state":"failed")"));
  put();
  d.settle(d.take_one("q"), RetryAt{.at = d.now() + 1h});
  EXPECT_THAT(d.payloads("bin").back(), HasSubstr(R"("state":"dead")"));
  put({.payload = R"("lost")", .max_lost = 0});
  d.take_one("q");
  d.live(3min);
  ASSERT_THAT(d.payloads("bin"), SizeIs(3));
  EXPECT_THAT(d.payloads("bin").back(),
              AllOf(HasSubstr(R"("payload":"lost")"), HasSubstr(R"("code":"worker_lost")"),
                    HasSubstr(R"("lost":1)")));
}

TEST_F(DeadLetters, no_other_end_puts_one) {
  put();
  d.settle(d.take_one("q"), Done{});
  put();
  d.settle(d.take_one("q"), Cancel{});
  d.try_cancel(put());
  put({.start_by = d.now() + 1s});
  d.live(5s);
  QueueSettings patient = d.queue("q").queue.settings;
  patient.retry.max_retries = 5;
  d.put_queue(patient);
  put();
  EXPECT_EQ(d.settle(d.take_one("q"), failure(true)).state, TaskState::retrying);
  EXPECT_THAT(d.payloads("bin"), IsEmpty());
}

TEST_F(DeadLetters, a_run_that_fails_after_a_cancel_was_requested_puts_none) {
  const TaskId id = put();
  const Lease lease = d.take_one("q");
  d.try_cancel(id);
  EXPECT_EQ(d.settle(lease, failure(true)).state, TaskState::cancelled);
  EXPECT_THAT(d.payloads("bin"), IsEmpty());
}

TEST_F(DeadLetters, a_broker_that_does_not_remember_the_lease_puts_it_too) {
  put({.payload = "7"});
  const Lease lease = d.take_one("q");
  d.restart();
  d.settle(lease, failure(true));
  EXPECT_THAT(only_payload(), HasSubstr(R"("payload":7)"));
}

TEST_F(DeadLetters, a_report_that_comes_twice_puts_one) {
  put();
  const Lease lease = d.take_one("q");
  d.settle(lease, failure(true));
  must(d.try_settle(lease, failure(true)));
  EXPECT_THAT(d.payloads("bin"), SizeIs(1));
}

TEST_F(DeadLetters, payloads_that_are_no_json_go_along_as_text_or_base64) {
  put({.payload = "plain", .content_type = "text/plain"});
  d.settle(d.take_one("q"), failure(true));
  EXPECT_THAT(d.payloads("bin").back(), AllOf(HasSubstr(R"("payload_text":"plain")"),
                                              HasSubstr(R"("content_type":"text/plain")")));
  put({.payload = "\xff\xfe"});
  d.settle(d.take_one("q"), failure(true));
  EXPECT_THAT(d.payloads("bin").back(), HasSubstr(R"("payload_base64":"//4=")"));
}

TEST_F(DeadLetters, a_payload_that_finds_no_room_is_left_out) {
  auto large = sending("q", "bin");
  large.max_task_size = limits::max_payload;
  d.put_queue(large);
  for (const bool binary : {false, true}) {
    const std::size_t size = binary ? limits::max_payload * 9 / 10 : limits::max_payload;
    put({.payload = std::string(size, binary ? '\xff' : '1'),
         .metadata = R"({"m":")" + std::string(limits::max_metadata - 8, 'm') + "\"}"});
    EXPECT_EQ(d.settle(d.take_one("q"), failure(true)).state, TaskState::dead);
    EXPECT_THAT(d.payloads("bin").back(),
                AllOf(HasSubstr(R"("payload_left_out":true)"), Not(HasSubstr("111"))));
  }
}

TEST_F(DeadLetters, those_of_one_request_fit_into_memory) {
  constexpr std::size_t size = limits::mib / 2;
  constexpr int count = 130;
  for (int i = 0; i < count; ++i) put({.payload = std::string(size, '1')});
  std::vector<Report> reports;
  for (auto leases = d.take("q"); !leases.empty(); leases = d.take("q")) {
    for (const Lease& lease : leases) {
      reports.push_back({.id = lease.id, .token = lease.token, .outcome = failure(true)});
    }
  }
  ASSERT_THAT(reports, SizeIs(count));
  must(d.try_work({.reports = std::move(reports)}));
  int left_out = 0;
  for (const std::string& payload : d.payloads("bin")) {
    left_out += payload.contains("payload_left_out") ? 1 : 0;
    EXPECT_EQ(payload.size() > size, !payload.contains("payload_left_out"));
  }
  EXPECT_EQ(left_out, count - 128) << "64 MiB";
}

TEST_F(DeadLetters, one_that_dies_itself_goes_where_its_own_queue_says_and_no_further) {
  d.put_queue({.name = "last", .retry = {.max_retries = 0}});
  d.put_queue(sending("bin", "last"));
  put();
  for (const char* queue : {"q", "bin", "last"}) d.settle(d.take_one(queue), failure(true));
  d.live(5s);
  EXPECT_THAT(d.take("bin"), IsEmpty());
  EXPECT_THAT(d.take("last"), IsEmpty());
  EXPECT_THAT(d.payloads("last"), SizeIs(1));
  EXPECT_THAT(d.payloads("last").front(), HasSubstr(R"("queue":"bin","type":"dead_letter")"));
}

TEST_F(DeadLetters, it_skips_the_limits_of_its_queue) {
  d.put_queue({.name = "bin", .active = false, .max_depth = 1});
  for (int i = 0; i < 3; ++i) {
    put();
    EXPECT_EQ(d.settle(d.take_one("q"), failure(true)).state, TaskState::dead);
  }
  EXPECT_THAT(d.payloads("bin"), SizeIs(3));
}

TEST_F(DeadLetters, a_broker_tells_why_a_dead_letter_queue_cannot_be) {
  EXPECT_THAT(d.try_put_queue(sending("new", "nowhere")),
              FailsWith(ErrorCode::not_found, HasSubstr("create it first")));
  EXPECT_THAT(d.try_put_queue(sending("bin", "q")),
              FailsWith(ErrorCode::conflict, HasSubstr("bin -> q -> bin")));
}

}  // namespace
}  // namespace millrace
