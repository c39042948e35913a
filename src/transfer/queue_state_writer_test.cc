#include "transfer/queue_state_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>

#include "core/uuid.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/matchers.h"
#include "tests/support/model_store.h"
#include "transfer/import.h"

namespace millrace::transfer {
namespace {

using namespace std::chrono_literals;
using test::must;
using test::StoreDriver;
using test::t0;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<Store> open_model() {
  return std::make_unique<test::ModelStore>();
}

TaskId id(int n) {
  return *task_id_from_text("task-00000000-0000-4000-8000-00000000000" + std::to_string(n));
}

struct OwnStore {
  std::unique_ptr<Store> owned = open_model();
};

class QueueStateWriter : public ::testing::Test, private OwnStore, protected StoreDriver {
 protected:
  QueueStateWriter() : StoreDriver(*owned) { make_queue("claude"); }

  Result<std::string> written(const std::string& queue = {}) {
    std::stringstream lines;
    std::ostringstream out;
    must(export_store(store(), lines, now));
    auto report = write_queue_state(lines, out, queue);
    if (!report) return std::unexpected(std::move(report.error()));
    tasks_ = report->written.tasks;
    return out.str();
  }
  // Only what was written about one task.
  std::string written_of(int n) {
    const std::string text = must(written());
    const std::size_t begin = text.find("    {\n      \"id\": \"task-" + to_text(id(n).value));
    return text.substr(begin, text.find("\n    }", begin) - begin);
  }

  std::uint64_t tasks_ = 0;
};

// S0-034, S0-036, S0-038…043, S0-049…054, S0-057, S0-075, C-09, C-18: the document of the source.
TEST_F(QueueStateWriter, a_new_task_has_every_field_of_the_document) {
  put({.id = id(1),
       .queue = "claude",
       .type = "claude-query",
       .payload = R"({"prompt":"Почему?","parameters":{"temperature":0.70,"stop":[]}})",
       .priority = 8,
       .callback = Callback{.url = "https://example.com/webhook"},
       .client_id = "client-1",
       .request_id = "req-1"});
  EXPECT_EQ(must(written()), R"({
  "queues": {
    "high": [
      "task-00000000-0000-4000-8000-000000000001"
    ],
    "medium": [],
    "low": []
  },
  "tasks": [
    {
      "id": "task-00000000-0000-4000-8000-000000000001",
      "type": "claude-query",
      "status": "queued",
      "priority": "high",
      "createdAt": "2030-01-01T00:00:00.000Z",
      "updatedAt": "2030-01-01T00:00:00.000Z",
      "startedAt": null,
      "completedAt": null,
      "failedAt": null,
      "clientId": "client-1",
      "requestId": "req-1",
      "payload": {
        "prompt": "Почему?",
        "parameters": {
          "temperature": 0.70,
          "stop": []
        }
      },
      "result": null,
      "error": null,
      "lastError": null,
      "retries": 0,
      "maxRetries": 3,
      "nextRetryAt": null,
      "callbackUrl": "https://example.com/webhook",
      "callbackAttempts": 0,
      "maxCallbackAttempts": 3,
      "metadata": {}
    }
  ]
}
)");
  EXPECT_EQ(tasks_, 1U);
}

// S0-041, S0-049, S0-094
TEST_F(QueueStateWriter, a_completed_task_has_its_result_and_its_moments) {
  put({.id = id(1), .queue = "claude", .metadata = R"({"tags":["ethics"]})"});
  const Lease lease = take_one("claude");
  now += 2s;
  settle(test::done(lease, R"({"content":"42"})"));
  EXPECT_THAT(written_of(1), AllOf(HasSubstr(R"("status": "completed")"),
                                   HasSubstr(R"("startedAt": "2030-01-01T00:00:00.000Z")"),
                                   HasSubstr(R"("completedAt": "2030-01-01T00:00:02.000Z")"),
                                   HasSubstr("\"result\": {\n        \"content\": \"42\"\n      }"),
                                   HasSubstr(R"("tags": [)"), HasSubstr(R"("error": null)")));
}

// S0-050, S0-051, S0-053, S0-099, S0-158
TEST_F(QueueStateWriter, a_task_that_is_tried_again_has_its_error_and_its_next_moment) {
  put({.id = id(1), .queue = "claude"});
  const Lease lease = take_one("claude");
  now += 2s;
  settle(test::retry_at(
      lease, now + 30s,
      {.code = "timeout", .message = "too slow", .details = R"({"ms":30000})", .failed_at = now}));
  EXPECT_THAT(written_of(1),
              AllOf(HasSubstr(R"("status": "retrying")"), HasSubstr(R"("retries": 1)"),
                    HasSubstr(R"("message": "too slow")"), HasSubstr(R"("code": "timeout")"),
                    HasSubstr(R"("ms": 30000)"), HasSubstr(R"("lastError": "too slow")"),
                    HasSubstr(R"("failedAt": "2030-01-01T00:00:02.000Z")"),
                    HasSubstr(R"("nextRetryAt": "2030-01-01T00:00:32.000Z")")));
  EXPECT_THAT(must(written()), HasSubstr(R"("medium": [])")) << "it stands in no line";
}

// S0-071
TEST_F(QueueStateWriter, each_priority_has_its_line_in_the_order_of_takes) {
  for (const auto& [n, priority] : {std::pair{1, 5}, {2, 7}, {3, 9}, {4, 0}, {5, 5}}) {
    put({.id = id(n), .queue = "claude", .priority = static_cast<std::uint8_t>(priority)});
  }
  std::string lines = must(written());
  lines = lines.substr(0, lines.find("\"tasks\""));
  std::erase_if(lines, [](char c) { return c == ' ' || c == '\n'; });
  const std::string task = "task-00000000-0000-4000-8000-00000000000";
  EXPECT_EQ(lines, "{\"queues\":{\"high\":[\"" + task + "3\",\"" + task + "2\"],\"medium\":[\"" +
                       task + "1\",\"" + task + "5\"],\"low\":[\"" + task + "4\"]},");
}

TEST_F(QueueStateWriter, what_was_written_can_be_imported) {
  for (int n = 1; n <= 4; ++n) put({.id = id(n), .queue = "claude", .payload = R"({"n":1})"});
  put({.id = id(5), .queue = "claude", .delay = 1h});
  settle(test::done(take_one("claude"), R"("well")"));
  const std::string text = must(written());
  const auto copy = open_model();
  std::istringstream in(text);
  const ImportReport report = import_store(in, *copy, now, {.queue = "claude"});
  ASSERT_FALSE(report.error) << report.error->message;
  StoreDriver there(*copy);
  EXPECT_EQ(there.find(id(1)).result, R"("well")");
  EXPECT_EQ(there.find(id(5)).state, TaskState::retrying);
  EXPECT_EQ(there.find(id(5)).start, t0 + 1h);
  EXPECT_THAT(test::ids_of(there.take("claude")), ::testing::ElementsAre(id(2), id(3), id(4)));
}

TEST_F(QueueStateWriter, one_queue_is_written_and_has_to_be_named_where_there_are_several) {
  EXPECT_THAT(must(written()), HasSubstr(R"("tasks": [])"));
  make_queue("mail");
  put({.id = id(1), .queue = "claude"});
  EXPECT_THAT(must(written()), HasSubstr(R"("id": "task-)")) << "the other queue is empty";
  put({.id = id(2), .queue = "mail"});
  EXPECT_THAT(written(), test::FailsWith(ErrorCode::invalid));
  EXPECT_THAT(must(written("mail")), ::testing::Not(HasSubstr("000000000001")));
  EXPECT_THAT(written("nowhere"), test::FailsWith(ErrorCode::not_found));
}

TEST_F(QueueStateWriter, text_is_a_string_and_bytes_are_refused) {
  put({.id = id(1), .queue = "claude", .payload = "say \"hi\""});
  EXPECT_THAT(written_of(1), HasSubstr(R"("payload": "say \"hi\"")"));
  put({.id = id(2), .queue = "claude", .payload = "\xff\xfe"});
  const auto refused = written();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, StartsWith("task 00000000-0000-4000-8000-000000000002"));
}

TEST(Indented, is_as_javascript_does_it) {
  EXPECT_EQ(indented(R"({"a":[1,{"b":"}[,:\"\\"}],"c":{},"d":[ ]})"),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"}[,:\\\"\\\\\"\n    }\n  ],\n  \"c\": "
            "{},\n  \"d\": []\n}");
}

}  // namespace
}  // namespace millrace::transfer
