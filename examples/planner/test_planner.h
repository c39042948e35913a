// The planner in virtual time, with steps that tests can look at and break.
#pragma once

#include <gtest/gtest.h>
#include <millrace/app.h>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planner.h"
#include "table.h"
#include "tests/support/temporary_directory.h"

namespace planner {

using namespace std::chrono_literals;

// A Monday.
inline const millrace::TimePoint t0 = std::chrono::sys_days(std::chrono::year(2026) / 1 / 5) + 9h;

// Foundations, then walls and a roof on them: three steps, two files.
inline Plan shed() {
  return {.name = "shed",
          .goal = "A shed",
          .steps = {{.name = "roof", .action = Action::join, .text = "Roof", .needs = {"walls"}},
                    {.name = "walls", .action = Action::join, .text = "Walls", .needs = {"ground"}},
                    {.name = "ground", .action = Action::write, .text = "Ground", .needs = {}}},
          .artifacts = {{.file = "walls.md", .title = "The walls", .steps = {"ground", "walls"}},
                        {.file = "roof.json", .title = "The roof", .steps = {"roof"}}}};
}

class TestPlanner {
 public:
  explicit TestPlanner(std::string url = "memory:") : url_(std::move(url)) {}

  millrace::App& app() {
    if (!app_) {
      millrace::AppOptions options = app_options();
      options.log = [](std::string_view) {};
      options.virtual_time = now_;
      app_ = std::make_unique<millrace::App>(url_, options);
      planner_ = std::make_unique<Planner>(*app_, services);
    }
    return *app_;
  }
  const Planner& planner() {
    app();
    return *planner_;
  }
  millrace::Client& client() { return app().client(); }

  // The app is closed: time passes without it.
  void stay_away(millrace::Duration by) { now_ += by; }
  void step(millrace::Duration by) {
    now_ += by;
    const auto stepped = app().step(now_);
    if (!stepped) throw millrace::Failure(stepped.error());
  }
  millrace::Task find(millrace::TaskId id) {
    auto found = client().find(id);
    if (!found) throw millrace::Failure(found.error());
    return std::move(*found);
  }
  QueueTask row(millrace::TaskId id) { return row_of(find(id)); }
  std::vector<millrace::Task> dead(const std::string& queue) {
    auto found = client().dead({.queue = queue});
    if (!found) throw millrace::Failure(found.error());
    return std::move(*found);
  }
  millrace::QueueCounts counts(const std::string& queue) {
    auto found = client().counts(queue);
    if (!found) throw millrace::Failure(found.error());
    return *found;
  }
  // Of the ends of runs, those of one type.
  std::vector<millrace::TaskId> ended(const std::string& type) const {
    std::vector<millrace::TaskId> ids;
    for (const auto& [each, id] : ends) {
      if (each == type) ids.push_back(id);
    }
    return ids;
  }
  Folder files(millrace::TaskId run, const std::string& plan = "shed") const {
    return artifacts_of(services, plan, run);
  }

  struct StepRun {
    std::string step;
    millrace::Duration at;  // since t0
    bool operator==(const StepRun&) const = default;
  };
  std::vector<StepRun> runs;  // of steps
  std::vector<std::pair<std::string, millrace::TaskId>> ends;
  // Throws where the step fails.
  std::function<void(const Step&, millrace::Context&)> world = [](const Step&, millrace::Context&) {
  };
  millrace::test::TemporaryDirectory output;
  Services services{
      .output = output.path(),
      .run_step =
          [this](const Step& step, const std::vector<std::string>& needed,
                 millrace::Context& task) {
            runs.push_back({step.name, task.now() - t0});
            world(step, task);
            return run_action(step, needed);
          },
      .told =
          [this](const millrace::TaskEvent& event) {
            ends.emplace_back(event.task.type, event.task.id);
          },
  };

 private:
  std::string url_;
  millrace::TimePoint now_ = t0;
  std::unique_ptr<millrace::App> app_;
  std::unique_ptr<Planner> planner_;
};

}  // namespace planner
