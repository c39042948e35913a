// A plan: steps that need each other, and the files that come of them.
#pragma once

#include <millrace/fields.h>
#include <millrace/ids.h>
#include <millrace/result.h>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace planner {

// The artifacts of a plan are put in the commit that ends its execution, which holds so many.
inline constexpr std::size_t most_artifacts = 32;
inline constexpr std::size_t most_steps = 100;

enum class Action {
  write,  // the text itself
  join,   // the text, then the results of what it needs
  count,  // how many words the results of what it needs have
};
MILLRACE_NAMES(Action, write, join, count)

struct Step {
  std::string name;
  Action action = Action::write;
  std::string text;
  std::vector<std::string> needs;  // names of other steps
};
MILLRACE_FIELDS(Step, name, action, text, needs)

struct Artifact {
  std::string file;  // name.md or name.json
  std::string title;
  std::vector<std::string> steps;  // whose results are its sections
};
MILLRACE_FIELDS(Artifact, file, title, steps)

struct Plan {
  std::string name;
  std::string goal;
  std::vector<Step> steps;
  std::vector<Artifact> artifacts;
};
MILLRACE_FIELDS(Plan, name, goal, steps, artifacts)

// ---- What tasks say (task_data) ----------------------------------------------------------------

// planning
struct PlanRequest {
  std::string goal;
  std::vector<std::string> topics;
};
MILLRACE_FIELDS(PlanRequest, goal, topics)

// plan_execution
struct PlanExecution {
  std::optional<millrace::TaskId> run = std::nullopt;  // left out: the task is the run
  Plan plan;
};
MILLRACE_FIELDS(PlanExecution, run, plan)

struct Section {
  std::string step;
  std::string text;
};
MILLRACE_FIELDS(Section, step, text)

// artifact_generation: says everything that the file contains, so that a second run writes the
// same.
struct ArtifactGeneration {
  millrace::TaskId run;
  std::string plan;
  std::string file;
  std::string title;
  std::vector<Section> sections;
  std::vector<std::string> files;  // of the whole run
};
MILLRACE_FIELDS(ArtifactGeneration, run, plan, file, title, sections, files)

// artifact_collection
struct ArtifactCollection {
  millrace::TaskId run;
  std::string plan;
  std::vector<std::string> files;
};
MILLRACE_FIELDS(ArtifactCollection, run, plan, files)

// ---- Rules -------------------------------------------------------------------------------------

// Small letters, digits and dashes, 40 at most: becomes part of a path.
bool is_name(std::string_view text);
// A name with .md or .json.
bool is_file(std::string_view text);
// The nearest name to a text: "Try it!" is "try-it"; "plan" where nothing is left.
std::string name_of(std::string_view text);

// For each topic an outline and a draft of it, and a summary of all.
millrace::Result<Plan> make_plan(const PlanRequest& request);

// The steps so that each comes after those it needs, otherwise as they stand. `invalid` says what
// is wrong with the plan: a name, a step that is not there, steps that wait for each other.
millrace::Result<std::vector<const Step*>> in_order(const Plan& plan);

// What a built-in action makes of the results of the steps it needs.
std::string run_action(const Step& step, const std::vector<std::string>& needed);

// The text of an artifact: the same for the same task.
std::string text_of(const ArtifactGeneration& artifact);

}  // namespace planner
