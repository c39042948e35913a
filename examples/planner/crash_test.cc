// The program is killed when a file is written and its task has not ended. All that happens again
// is the task: the file is the same, and there is no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "test_planner.h"

namespace planner {
namespace {

using millrace::TaskState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int killed = 77;

class CrashTest : public ::testing::Test {
 protected:
  millrace::test::TemporaryDirectory data_;
  TestPlanner p_{"journal:" + (data_ / "journal")};

  // Puts the plan in a process of its own, which dies when `file` is there. The run.
  millrace::TaskId die_after(const std::string& file) {
    const std::string told = data_ / "run";
    const pid_t child = fork();
    if (child == 0) {
      p_.services.written = [&](const std::filesystem::path& path) {
        if (path.filename() != file) return;
        std::ofstream(path.parent_path() / ".part-killed") << "half";
        _exit(killed);
      };
      std::ofstream(told) << millrace::encode(p_.planner().execute(shed()).id) << std::flush;
      p_.step(1s);
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), killed);
    p_.stay_away(1min);  // ids of virtual time would come twice
    std::ifstream in(told);
    const std::string id{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    return millrace::decode<millrace::TaskId>(id).value();
  }
  std::string text(millrace::TaskId run, std::string_view name) {
    return p_.files(run).read(name).value().value_or("(none)");
  }
  void expect_all_there(millrace::TaskId run) {
    EXPECT_THAT(p_.files(run).names(), ElementsAre("index.md", "roof.json", "walls.md"));
    EXPECT_THAT(steps_of(p_.services, "shed", run).names(), ElementsAre("ground", "roof", "walls"));
    EXPECT_EQ(p_.find(run).state, TaskState::completed);
    for (const char* queue : {plans_queue, artifacts_queue}) {
      EXPECT_EQ(p_.counts(queue).of(TaskState::completed), p_.counts(queue).total()) << queue;
    }
    EXPECT_EQ(p_.counts(plans_queue).total(), 1U);
    EXPECT_EQ(p_.counts(artifacts_queue).total(), 3U);  // two of them, and the collection
  }
};

// S4-045, D-26
TEST_F(CrashTest, an_artifact_that_was_written_before_the_crash_is_the_same_after_it) {
  const auto run = die_after("walls.md");
  const std::string before = text(run, "walls.md");
  EXPECT_THAT(p_.files(run).names(), ElementsAre(".part-killed", "walls.md"));
  p_.step(5min);
  EXPECT_EQ(text(run, "walls.md"), before);
  expect_all_there(run);
  EXPECT_THAT(p_.runs, IsEmpty());  // the plan had ended
  const auto generated = p_.ended("artifact_generation");
  ASSERT_THAT(generated, SizeIs(2));
  EXPECT_EQ(p_.find(generated[0]).counters.deliveries + p_.find(generated[1]).counters.deliveries,
            3U);
}

// S4-045
TEST_F(CrashTest, the_last_artifact_brings_the_collection_although_it_was_there_before_the_crash) {
  const auto run = die_after("roof.json");
  EXPECT_THAT(p_.files(run).names(), ElementsAre(".part-killed", "roof.json", "walls.md"));
  p_.step(5min);
  expect_all_there(run);
  EXPECT_THAT(p_.ended("artifact_collection"), SizeIs(1));
}

// S4-044, D-26
TEST_F(CrashTest, steps_that_were_done_before_the_crash_are_not_done_again) {
  const auto run = die_after("walls");
  EXPECT_EQ(p_.counts(artifacts_queue).total(), 0U);
  p_.step(5min);
  expect_all_there(run);
  ASSERT_THAT(p_.runs, SizeIs(1));
  EXPECT_EQ(p_.runs[0].step, "roof");
}

// S4-045
TEST_F(CrashTest, an_index_is_written_again) {
  const auto run = die_after("index.md");
  const std::string before = text(run, "index.md");
  p_.step(5min);
  EXPECT_EQ(text(run, "index.md"), before);
  expect_all_there(run);
}

}  // namespace
}  // namespace planner
