// Planning, execution and artifacts, in virtual time.
#include "planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "test_planner.h"
#include "tests/support/matchers.h"

namespace planner {
namespace {

using millrace::Put;
using millrace::TaskState;
using millrace::test::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using StepRun = TestPlanner::StepRun;

class PlannerTest : public ::testing::Test {
 protected:
  TestPlanner p_;

  // A step fails so often, then it works.
  void fail_first(std::string name, std::uint32_t times) {
    p_.world = [name = std::move(name), left = times](const Step& step,
                                                      millrace::Context&) mutable {
      if (step.name != name || left == 0) return;
      --left;
      throw std::runtime_error("no hammer for " + name);
    };
  }
  std::string text(millrace::TaskId run, std::string_view name) {
    return p_.files(run).read(name).value().value_or("(none)");
  }
};

// ---- Planning ----------------------------------------------------------------------------------

// S4-043, S4-049
TEST_F(PlannerTest, planning_puts_the_execution_of_its_plan) {
  p_.step(0s);
  const Put put = p_.planner().plan({"A shed", {"Roof", "Walls"}});
  ASSERT_THAT(p_.client().pause("plans"), IsOk());
  p_.step(1s);
  EXPECT_EQ(p_.find(put.id).state, TaskState::completed);
  EXPECT_EQ(p_.find(put.id).result, R"({"plan":"a-shed","steps":5})");
  EXPECT_EQ(p_.counts("plans").ready(), 1U);
  EXPECT_THAT(p_.runs, IsEmpty());

  ASSERT_THAT(p_.client().resume("plans"), IsOk());
  p_.step(1s);
  const auto executions = p_.ended("plan_execution");
  ASSERT_THAT(executions, SizeIs(1));
  EXPECT_EQ(p_.find(executions[0]).parent, put.id);
  EXPECT_THAT(p_.files(put.id, "a-shed").names(),
              ElementsAre("index.md", "summary.json", "topic-1.md", "topic-2.md"));
}

// S4-043
TEST_F(PlannerTest, a_request_that_cannot_be_planned_is_refused) {
  EXPECT_THROW(p_.planner().plan({"A shed", {}}), millrace::Failure);
  // As another program might put it.
  const auto put = p_.client().put("planning", PlanRequest{"A shed", {}}, {.type = "planning"});
  ASSERT_THAT(put, IsOk());
  p_.step(1h);
  EXPECT_EQ(p_.find(put->id).state, TaskState::failed);
  EXPECT_EQ(p_.row(put->id).error_message, "0 topics were given; 1 to 31 are allowed");
  EXPECT_EQ(p_.find(put->id).counters.deliveries, 1U);
}

// ---- Execution ---------------------------------------------------------------------------------

// S4-044, S4-049
TEST_F(PlannerTest, steps_run_after_those_they_need) {
  const Put put = p_.planner().execute(shed());
  p_.step(1s);
  EXPECT_THAT(p_.runs,
              ElementsAre(StepRun{"ground", 0s}, StepRun{"walls", 0s}, StepRun{"roof", 0s}));
  EXPECT_EQ(p_.find(put.id).result, R"({"steps":3,"artifacts":2})");
  EXPECT_EQ(p_.find(put.id).progress, 100);
}

// S4-044
TEST_F(PlannerTest, a_plan_that_cannot_be_executed_fails_at_once) {
  Plan plan = shed();
  plan.steps[2].needs = {"roof"};
  EXPECT_THROW(p_.planner().execute(plan), millrace::Failure);
  const auto put =
      p_.client().put("plans", PlanExecution{.plan = plan}, {.type = "plan_execution"});
  ASSERT_THAT(put, IsOk());
  p_.step(1h);
  EXPECT_EQ(p_.find(put->id).state, TaskState::failed);
  EXPECT_EQ(p_.row(put->id).error_message,
            "steps of plan shed wait for each other: roof, walls, ground");
  EXPECT_THAT(p_.runs, IsEmpty());
}

// S4-003, S4-019, S4-021, S4-029, S4-038, S4-046, C-03
TEST_F(PlannerTest, a_step_that_fails_twice_succeeds_at_the_third_attempt) {
  fail_first("walls", 2);
  const Put put = p_.planner().execute(shed());
  p_.step(1s);
  QueueTask row = p_.row(put.id);
  EXPECT_EQ(row.status, Status::queued);
  EXPECT_EQ(row.retry_count, 1U);
  EXPECT_EQ(row.next_retry_at, t0 + 10s);
  EXPECT_EQ(row.error_message, "no hammer for walls");
  EXPECT_EQ(p_.counts("artifacts").total(), 0U);  // with the end of the plan, or not at all

  p_.step(1h);
  // What was done is not done again.
  EXPECT_THAT(p_.runs,
              ElementsAre(StepRun{"ground", 0s}, StepRun{"walls", 0s}, StepRun{"walls", 10s},
                          StepRun{"walls", 30s}, StepRun{"roof", 30s}));
  row = p_.row(put.id);
  EXPECT_EQ(row.status, Status::completed);
  EXPECT_EQ(row.retry_count, 2U);
  EXPECT_EQ(row.next_retry_at, std::nullopt);
  EXPECT_EQ(row.completed_at, t0 + 30s);
  EXPECT_THAT(p_.files(put.id).names(), ElementsAre("index.md", "roof.json", "walls.md"));
}

// S4-004, S4-020, S4-023, S4-039, S4-046, C-08
TEST_F(PlannerTest, a_plan_that_fails_four_times_is_a_dead_letter_until_it_is_retried) {
  fail_first("walls", 4);
  const Put put = p_.planner().execute(shed());
  p_.step(2h);
  EXPECT_THAT(p_.runs,
              ElementsAre(StepRun{"ground", 0s}, StepRun{"walls", 0s}, StepRun{"walls", 10s},
                          StepRun{"walls", 30s}, StepRun{"walls", 70s}));
  ASSERT_THAT(p_.dead("plans"), SizeIs(1));
  EXPECT_EQ(p_.dead("plans")[0].state, TaskState::dead);
  EXPECT_EQ(p_.row(put.id).status, Status::failed);
  EXPECT_EQ(p_.row(put.id).max_retries, 3U);
  EXPECT_EQ(p_.counts("artifacts").total(), 0U);

  EXPECT_THAT(p_.client().retry(put.id), IsOk());
  p_.runs.clear();
  p_.step(1s);
  EXPECT_THAT(p_.runs, ElementsAre(StepRun{"walls", 2h}, StepRun{"roof", 2h}));
  EXPECT_EQ(p_.row(put.id).status, Status::completed);
  EXPECT_THAT(p_.dead("plans"), IsEmpty());
  EXPECT_THAT(p_.files(put.id).names(), ElementsAre("index.md", "roof.json", "walls.md"));
}

// ---- Artifacts ---------------------------------------------------------------------------------

// S4-045
TEST_F(PlannerTest, artifacts_are_files) {
  const Put put = p_.planner().execute(shed());
  p_.step(1s);
  EXPECT_EQ(text(put.id, "walls.md"),
            "# The walls\n\n## ground\n\nGround\n\n## walls\n\nWalls\n\nGround\n");
  EXPECT_EQ(text(put.id, "roof.json"),
            "{\"title\":\"The roof\",\"sections\":{\"roof\":\"Roof\\n\\nWalls\\n\\nGround\"}}\n");
  EXPECT_EQ(text(put.id, "index.md"),
            "# shed\n\n- [walls.md](walls.md), 56 bytes\n- [roof.json](roof.json), 67 bytes\n");
  EXPECT_THAT(p_.ended("artifact_generation"), SizeIs(2));
  EXPECT_THAT(p_.ended("artifact_collection"), SizeIs(1));
  EXPECT_EQ(p_.find(p_.ended("artifact_collection")[0]).result,
            R"({"index":"index.md","artifacts":2})");
}

// S4-045, S4-004, S4-039
TEST_F(PlannerTest, artifacts_are_collected_when_the_last_one_is_there) {
  p_.step(0s);
  const Put put = p_.planner().execute(shed());
  ASSERT_THAT(p_.client().pause("artifacts"), IsOk());
  p_.step(1s);
  // A directory in the way of the file: it cannot be written.
  const auto in_the_way = p_.files(put.id).path() / "roof.json" / "x";
  std::filesystem::create_directories(in_the_way);
  ASSERT_THAT(p_.client().resume("artifacts"), IsOk());
  p_.step(1h);
  EXPECT_THAT(p_.files(put.id).names(), ElementsAre("walls.md"));
  const auto letters = p_.dead("artifacts");
  ASSERT_THAT(letters, SizeIs(1));
  EXPECT_EQ(letters[0].type, "artifact_generation");
  EXPECT_THAT(letters[0].error->message, HasSubstr("roof.json cannot be written"));
  EXPECT_THAT(p_.ended("artifact_collection"), IsEmpty());

  std::filesystem::remove_all(in_the_way.parent_path());
  EXPECT_THAT(p_.client().retry(letters[0].id), IsOk());
  p_.step(1s);
  EXPECT_THAT(p_.files(put.id).names(), ElementsAre("index.md", "roof.json", "walls.md"));
  EXPECT_THAT(p_.ended("artifact_collection"), SizeIs(1));
}

TEST_F(PlannerTest, two_runs_of_a_plan_do_not_touch_each_other) {
  const Put first = p_.planner().execute(shed());
  const Put second = p_.planner().execute(shed());
  p_.step(1s);
  EXPECT_THAT(p_.runs, SizeIs(6));
  for (const Put& put : {first, second}) {
    EXPECT_THAT(p_.files(put.id).names(), ElementsAre("index.md", "roof.json", "walls.md"));
  }
  EXPECT_THAT(p_.ended("artifact_collection"), SizeIs(2));
}

TEST_F(PlannerTest, no_task_writes_outside_the_output) {
  const auto fails = [&](const ArtifactGeneration& job) {
    const auto put = p_.client().put("artifacts", job, {.type = "artifact_generation"});
    EXPECT_THAT(put, IsOk());
    p_.step(1s);
    EXPECT_EQ(p_.find(put->id).state, TaskState::failed);
    return p_.row(put->id).error_message.value_or("");
  };
  EXPECT_EQ(fails({.plan = "..", .file = "a.md"}), R"(".." is not a plan)");
  EXPECT_EQ(fails({.plan = "shed", .file = "../a.md"}), R"("../a.md" is not a file)");
  EXPECT_EQ(fails({.plan = "shed", .file = "a.md", .files = {"/a.md"}}),
            R"("/a.md" is not a file)");
  EXPECT_TRUE(std::filesystem::is_empty(p_.output.path()));
}

// ---- Queues ------------------------------------------------------------------------------------

// S4-008, S4-009, S4-010, S4-020, S4-046, C-07, C-15
TEST_F(PlannerTest, queues_are_as_the_table_of_the_plan_has_them) {
  p_.step(0s);
  for (const char* queue : {planning_queue, plans_queue, artifacts_queue}) {
    const auto settings = p_.client().settings(queue);
    ASSERT_THAT(settings, IsOk());
    EXPECT_EQ(settings->max_concurrent, 1U);
    EXPECT_EQ(settings->priority, 5);
    EXPECT_TRUE(settings->active);
    EXPECT_EQ(settings->retry, retry_rules());
    EXPECT_EQ(settings->keep_completed, millrace::Keep{});
    EXPECT_EQ(settings->keep_dead, millrace::Keep{});
  }
  EXPECT_EQ(retry_rules().max_retries, 3U);
}

// S4-001, S4-017, S4-036
TEST_F(PlannerTest, a_plan_of_higher_priority_goes_first_and_so_do_its_artifacts) {
  Plan urgent = shed();
  urgent.name = "urgent";
  p_.planner().execute(shed());
  const Put put = p_.planner().execute(urgent, {.priority = 9});
  std::vector<std::string> order;
  p_.services.written = [&](const std::filesystem::path& file) {
    if (file.filename() == "index.md") order.push_back(file.parent_path().parent_path().filename());
  };
  p_.step(1s);
  EXPECT_THAT(order, ElementsAre("urgent", "shed"));
  EXPECT_EQ(p_.row(put.id).priority, 9);
  EXPECT_EQ(p_.find(p_.ended("artifact_collection")[0]).priority, 9);
  EXPECT_THROW(p_.planner().execute(urgent, {.priority = 10}), millrace::Failure);
}

// S4-029, C-09, C-10
TEST_F(PlannerTest, every_status_of_the_table_is_seen) {
  const Put later = p_.planner().execute(shed(), {.delay = 1h});
  EXPECT_EQ(p_.row(later.id).status, Status::pending);
  const Put put = p_.planner().execute(shed());
  EXPECT_EQ(p_.row(put.id).status, Status::pending);
  std::vector<Status> seen;
  p_.world = [&](const Step& step, millrace::Context& task) {
    if (step.name == "ground") seen.push_back(p_.row(task.id()).status);
    if (task.attempt() == 1) throw std::runtime_error("not yet");
  };
  p_.step(1s);
  EXPECT_EQ(p_.row(put.id).status, Status::queued);
  p_.step(1min);
  EXPECT_THAT(seen, ElementsAre(Status::processing, Status::processing));
  EXPECT_EQ(p_.row(put.id).status, Status::completed);
  EXPECT_THAT(p_.client().cancel(later.id), IsOk());
  EXPECT_EQ(p_.row(later.id).status, Status::cancelled);
}

// S4-015, S4-016, S4-018, S4-022, S4-024…028, S4-037
TEST_F(PlannerTest, a_task_has_every_column_of_the_table) {
  const Put put = p_.planner().plan({"A shed", {"Roof"}}, {.priority = 7});
  p_.step(1s);
  const QueueTask row = p_.row(put.id);
  EXPECT_FALSE(row.assigned_worker.value_or("").empty());
  EXPECT_EQ(millrace::encode(row),
            R"({"id":")" + millrace::to_text(put.id) +
                R"(","queue":"planning","task_type":"planning",)"
                R"("task_data":{"goal":"A shed","topics":["Roof"]},"priority":7,)"
                R"("status":"completed","retry_count":0,"max_retries":3,)"
                R"("result_data":{"plan":"a-shed","steps":3},"assigned_worker":")" +
                *row.assigned_worker +
                R"(","started_at":"2026-01-05T09:00:00.000Z",)"
                R"("completed_at":"2026-01-05T09:00:00.000Z",)"
                R"("created_at":"2026-01-05T09:00:00.000Z",)"
                R"("updated_at":"2026-01-05T09:00:00.000Z"})");
}

// S4-015
TEST_F(PlannerTest, an_unknown_type_fails_at_once) {
  const auto put = p_.client().put("plans", shed(), {.type = "plan_review"});
  ASSERT_THAT(put, IsOk());
  p_.step(1s);
  EXPECT_EQ(p_.row(put->id).status, Status::failed);
  EXPECT_THAT(p_.row(put->id).error_message.value_or(""), HasSubstr("plan_review"));
}

TEST_F(PlannerTest, the_run_of_a_task_is_its_first_task) {
  millrace::Lease lease{.payload = "{}"};
  lease.id.value.bytes[0] = 1;
  EXPECT_EQ(run_of(lease), lease.id);
  lease.payload = R"({"run":"0190f0a2-0000-7000-8000-000000000001"})";
  EXPECT_EQ(millrace::to_text(run_of(lease)), "0190f0a2-0000-7000-8000-000000000001");
  lease.payload = R"({"run":7})";
  EXPECT_EQ(run_of(lease), lease.id);
}

}  // namespace
}  // namespace planner
