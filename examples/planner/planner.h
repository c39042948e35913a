// Planning, execution of plans and generation of artifacts: one object over one App.
#pragma once

#include <millrace/app.h>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "folder.h"
#include "plan.h"

namespace planner {

inline constexpr const char* planning_queue = "planning";
inline constexpr const char* plans_queue = "plans";
inline constexpr const char* artifacts_queue = "artifacts";

// What the tasks need of the world. Functions are called from several threads.
struct Services {
  std::filesystem::path output;
  // Does a step, given the results of those it needs, and throws where it fails. It may be asked
  // twice for the same step; the task's id says that it is the same run.
  std::function<std::string(const Step& step, const std::vector<std::string>& needed,
                            millrace::Context& task)>
      run_step = [](const Step& step, const std::vector<std::string>& needed, millrace::Context&) {
        return run_action(step, needed);
      };
  // Each file that is there now; its task has not ended yet.
  std::function<void(const std::filesystem::path& file)> written =
      [](const std::filesystem::path&) {};
  // Each end of a run of a task, when it is stored.
  std::function<void(const millrace::TaskEvent& event)> told = [](const millrace::TaskEvent&) {};
};

// 10 s, 20 s, 40 s … up to an hour, exactly; three retries.
millrace::RetryRules retry_rules();

// For main() and for tests: queues in the order of their priorities.
millrace::AppOptions app_options();

// The run of a plan that a task belongs to: the first task of it.
millrace::TaskId run_of(const millrace::Lease& task);

// Adds everything to the app, which must not have started. Calls put tasks, and throw
// millrace::Failure where that cannot be done or the plan is none.
class Planner {
 public:
  Planner(millrace::App& app, Services& services);

  // Makes a plan, which is then executed.
  millrace::Put plan(const PlanRequest& request, millrace::PutOptions options = {}) const;
  millrace::Put execute(const Plan& plan, millrace::PutOptions options = {}) const;

 private:
  millrace::Handle<PlanRequest> planning_;
  millrace::Handle<PlanExecution> execution_;
};

// Where the artifacts of a run are, and the results of its steps.
Folder artifacts_of(const Services& services, const std::string& plan, millrace::TaskId run);
Folder steps_of(const Services& services, const std::string& plan, millrace::TaskId run);

}  // namespace planner
