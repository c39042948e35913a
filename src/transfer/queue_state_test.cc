#include "transfer/queue_state.h"

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
using test::StoreDriver;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Store> open_model() {
  return std::make_unique<test::ModelStore>();
}

TaskId id(int n) {
  return *task_id_from_text("task-00000000-0000-4000-8000-00000000000" + std::to_string(n));
}

// As JSON.stringify(state, null, 2) writes it; the task is the example of the document.
const char* const example = R"({
  "queues": {
    "high": [
      "task-00000000-0000-4000-8000-000000000003",
      "task-00000000-0000-4000-8000-000000000002"
    ],
    "medium": ["task-00000000-0000-4000-8000-000000000004"],
    "low": []
  },
  "tasks": [
    {
      "id": "task-00000000-0000-4000-8000-000000000001",
      "type": "claude-query",
      "status": "processing",
      "priority": "high",
      "createdAt": "2025-04-15T14:30:00Z",
      "updatedAt": "2025-04-15T14:31:00Z",
      "startedAt": "2025-04-15T14:31:00Z",
      "completedAt": null,
      "clientId": "client-123456",
      "requestId": "req-123456",
      "payload": {
        "prompt": "Объясните основные принципы...",
        "parameters": { "temperature": 0.7, "maxTokens": 1000, "model": "claude-3-opus" }
      },
      "result": null,
      "error": null,
      "retries": 1,
      "maxRetries": 3,
      "nextRetryAt": null,
      "callbackUrl": "https://example.com/webhook",
      "callbackAttempts": 2,
      "maxCallbackAttempts": 5,
      "metadata": { "requestType": "philosophy", "tags": ["ethics"] }
    },
    { "id": "task-00000000-0000-4000-8000-000000000002", "type": "a", "status": "queued",
      "priority": "high", "createdAt": "2025-04-15T10:00:00Z" },
    { "id": "task-00000000-0000-4000-8000-000000000003", "type": "a", "status": "retrying",
      "priority": "high", "createdAt": "2025-04-15T12:00:00Z", "retries": 2 },
    { "id": "task-00000000-0000-4000-8000-000000000004", "status": "created",
      "createdAt": "2025-04-15T09:00:00Z" },
    { "id": "task-00000000-0000-4000-8000-000000000005", "status": "completed", "priority": "low",
      "createdAt": "2025-04-15T09:00:00Z", "completedAt": "2025-04-15T09:01:00Z",
      "result": {"text": "42"} },
    { "id": "task-00000000-0000-4000-8000-000000000006", "status": "dead",
      "createdAt": "2025-04-15T09:00:00Z", "updatedAt": "2025-04-15T09:02:00Z",
      "error": {"message": "no", "code": "claude_api_401", "details": {"a": 1}} },
    { "id": "task-00000000-0000-4000-8000-000000000007", "status": "retrying",
      "createdAt": "2025-04-15T09:00:00Z", "nextRetryAt": "2031-01-01T00:00:00Z",
      "lastError": "again" }
  ]
})";

struct OwnStore {
  std::unique_ptr<Store> owned = open_model();
};

class QueueState : public ::testing::Test, private OwnStore, protected StoreDriver {
 protected:
  QueueState() : StoreDriver(*owned) {}

  ImportReport run(const std::string& text, const ImportOptions& options = {}) {
    std::istringstream in(text);
    return import_store(in, store(), now, options);
  }
  std::string error_of(const std::string& text) {
    const auto report = run(text);
    return report.error ? report.error->message : "";
  }
};

// S0-076
TEST_F(QueueState, comes_in_with_every_field_in_its_place) {
  const ImportReport report = run(example);
  ASSERT_FALSE(report.error) << report.error->message;
  EXPECT_EQ(report.added, (Counts{.queues = 1, .tasks = 7}));
  const Task task = find(id(1));
  EXPECT_EQ(task.queue, "default");
  EXPECT_EQ(task.type, "claude-query");
  EXPECT_EQ(task.priority, 8);
  EXPECT_EQ(task.payload,
            "{\"prompt\":\"Объясните основные принципы...\",\"parameters\":{\"temperature\":0.7,"
            "\"maxTokens\":1000,\"model\":\"claude-3-opus\"}}");
  EXPECT_EQ(task.client_id, "client-123456");
  EXPECT_EQ(task.request_id, "req-123456");
  EXPECT_EQ(task.metadata, R"({"requestType":"philosophy","tags":["ethics"]})");
  EXPECT_EQ(task.counters, (Counters{.deliveries = 2, .attempts = 1, .retries = 1}));
  EXPECT_EQ(task.retry->max_retries, 3U);
  EXPECT_EQ(task.callback->url, "https://example.com/webhook");
  EXPECT_EQ(task.callback->max_attempts, 5U);
  EXPECT_EQ(task.delivery->attempts, 2U);
  EXPECT_EQ(task.started_at, task.updated_at);
  EXPECT_EQ(find(id(5)).result, R"({"text":"42"})");
  EXPECT_EQ(find(id(5)).priority, 2);
  EXPECT_EQ(find(id(6)).error->code, "claude_api_401");
  EXPECT_EQ(find(id(6)).error->details, R"({"a":1})");
  EXPECT_EQ(find(id(7)).error->message, "again");
}

// D-07: what was being processed is in no line and would never have run again.
TEST_F(QueueState, gives_every_task_the_state_that_lets_it_go_on) {
  run(example);
  EXPECT_EQ(state_of(id(1)), TaskState::queued) << "was processing";
  EXPECT_EQ(state_of(id(2)), TaskState::queued);
  EXPECT_EQ(state_of(id(3)), TaskState::queued) << "retrying, but in line";
  EXPECT_EQ(state_of(id(4)), TaskState::queued) << "created, but in line";
  EXPECT_EQ(state_of(id(5)), TaskState::completed);
  EXPECT_EQ(state_of(id(6)), TaskState::dead);
  EXPECT_EQ(state_of(id(7)), TaskState::retrying);
}

// S0-073
TEST_F(QueueState, is_taken_in_the_order_of_its_lines) {
  run(example);
  EXPECT_THAT(test::ids_of(take("default")), ElementsAre(id(3), id(2), id(1), id(4)))
      << "3 stands before 2 though it is younger";
}

TEST_F(QueueState, goes_into_the_queue_that_is_named) {
  run(example, {.queue = "claude"});
  EXPECT_EQ(counts("claude").total(), 7U);
}

TEST_F(QueueState, comes_in_once_however_often_it_is_imported) {
  run(example);
  const std::string before = test::dump(store(), now);
  const ImportReport report = run(example);
  EXPECT_EQ(report.existing, (Counts{.queues = 1, .tasks = 7}));
  EXPECT_EQ(test::dump(store(), now), before);
}

TEST_F(QueueState, may_be_empty_and_on_one_line) {
  EXPECT_EQ(error_of(R"({"queues":{"high":[],"medium":[],"low":[]},"tasks":[]})"), "");
  EXPECT_EQ(error_of(R"({"tasks":[],"queues":{}})"), "");
}

TEST_F(QueueState, with_anything_unknown_is_refused_whole_and_names_the_task) {
  const auto with_task = [](const std::string& fields) {
    return R"({"queues":{},"tasks":[{"id":"task-00000000-0000-4000-8000-000000000001"},{)" +
           fields + "}]}";
  };
  const std::string second = R"("id":"task-00000000-0000-4000-8000-000000000002")";
  const std::pair<std::string, std::string> bad[] = {
      {with_task(second + R"(,"status":"lost")"),
       R"(tasks[1], "task-00000000-0000-4000-8000-000000000002": status "lost" is not known)"},
      {with_task(second + R"(,"status":"delayed")"), "status \"delayed\" is not known"},
      {with_task(second + R"(,"priority":"urgent")"), "priority: "},
      {with_task(second + R"(,"colour":"red")"), R"("colour" is not known; known are id, type)"},
      {with_task(second + R"(,"createdAt":"today")"), "createdAt: "},
      {with_task(second + R"(,"retries":-1)"), "retries must be a whole number from 0"},
      {with_task(second + R"(,"type":7)"), "type must be a string"},
      {with_task(R"("id":"job-7")"), R"(tasks[1], "job-7": id: )"},
      {with_task(R"("type":"a")"), "tasks[1]: id: "},
      {with_task(R"("id":"task-00000000-0000-4000-8000-000000000001")"), "is there twice"},
      {R"({"queues":{},"tasks":[7]})", "tasks[0] must be an object"},
      {R"({"queues":{},"tasks":7})", "tasks must be a list"},
      {R"({"queues":{"urgent":[]},"tasks":[]})", "queues.\"urgent\" is not known"},
      {R"({"queues":{"high":7},"tasks":[]})", "queues.high must be a list"},
      {R"({"queues":{"high":["task-00000000-0000-4000-8000-000000000009"]},"tasks":[]})",
       "queues.high[0] names \"task-00000000-0000-4000-8000-000000000009\", which is not among"},
      {R"({"queues":[],"tasks":[]})", "queues must be an object"},
      {R"({"queues":{}})", "tasks is missing"},
      {R"({"tasks":[]})", "queues is missing"},
      {R"({"queues":{},"tasks":[],"more":1})", "\"more\" is not known"},
      {R"({"queues":{},"tasks":[)", "ends in the middle"},
  };
  for (const auto& [text, message] : bad) {
    EXPECT_THAT(error_of(text), HasSubstr(message)) << text;
    EXPECT_TRUE(test::must(store().queues(std::nullopt)).empty()) << text;
  }
}

TEST_F(QueueState, has_errors_in_several_shapes) {
  const auto error_from = [&](const std::string& json) {
    static int number = 0;
    const std::string name = "task-00000000-0000-4000-8000-10000000000" + std::to_string(++number);
    const ImportReport report = run(R"({"queues":{},"tasks":[{"id":")" + name +
                                    R"(","status":"failed","error":)" + json + "}]}");
    EXPECT_FALSE(report.error) << report.error->message;
    return *find(*task_id_from_text(name)).error;
  };
  EXPECT_EQ(error_from(R"("plain")").message, "plain");
  EXPECT_EQ(error_from(R"("{\"message\":\"inner\",\"code\":\"c\"}")").message, "inner");
  EXPECT_EQ(error_from(R"({"message":"m"})").code, "task_processing_error");
  EXPECT_EQ(error_from(R"([1])").message, "[1]");
}

}  // namespace
}  // namespace millrace::transfer
