#include "planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace planner {
namespace {

using namespace std::chrono_literals;
using millrace::App;
using millrace::Context;
using millrace::ErrorCode;
using millrace::HandlerOptions;
using millrace::NewTask;
using millrace::Outcome;
using millrace::Put;
using millrace::Result;
using millrace::TaskFailure;
using millrace::TaskId;

struct Planned {
  std::string plan;
  std::size_t steps = 0;
};
MILLRACE_FIELDS(Planned, plan, steps)

struct Executed {
  std::size_t steps = 0;
  std::size_t artifacts = 0;
};
MILLRACE_FIELDS(Executed, steps, artifacts)

struct Generated {
  std::string file;
  std::size_t bytes = 0;
};
MILLRACE_FIELDS(Generated, file, bytes)

struct Collected {
  std::string index;
  std::size_t artifacts = 0;
};
MILLRACE_FIELDS(Collected, index, artifacts)

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw millrace::Failure(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// What a retry cannot mend.
[[noreturn]] void refuse(const millrace::Error& error) {
  throw TaskFailure({.code = "invalid_plan", .message = error.message}, false);
}

// A follow-up keeps the priority of its plan, and says where it comes from.
NewTask follow_up(const Context& task, std::string type) {
  return {.type = std::move(type), .priority = task.task().priority, .parent = task.id()};
}

Planned make_and_put(const PlanRequest& request, Context& task) {
  auto plan = make_plan(request);
  if (!plan) refuse(plan.error());
  Planned planned{.plan = plan->name, .steps = plan->steps.size()};
  const PlanExecution execution{.run = task.id(), .plan = std::move(*plan)};
  value_or_throw(task.put(plans_queue, execution, follow_up(task, "plan_execution")));
  return planned;
}

void write(const Folder& folder, const std::string& name, const std::string& text,
           const Services& services) {
  value_or_throw(folder.write(name, text));
  services.written(folder.path() / name);
}

// One step, or what an earlier attempt made of it.
std::string result_of(const Step& step, const std::map<std::string, std::string>& results,
                      const Folder& kept, Services& services, Context& task) {
  if (auto before = value_or_throw(kept.read(step.name))) return std::move(*before);
  std::vector<std::string> needed;
  for (const std::string& name : step.needs) needed.push_back(results.at(name));
  std::string result = services.run_step(step, needed, task);
  write(kept, step.name, result, services);
  return result;
}

ArtifactGeneration generation_of(const Artifact& artifact, const Plan& plan, TaskId run,
                                 const std::map<std::string, std::string>& results) {
  ArtifactGeneration made{.run = run,
                          .plan = plan.name,
                          .file = artifact.file,
                          .title = artifact.title,
                          .sections = {},
                          .files = {}};
  for (const std::string& step : artifact.steps) made.sections.push_back({step, results.at(step)});
  for (const Artifact& each : plan.artifacts) made.files.push_back(each.file);
  return made;
}

// The artifacts are put in the commit that ends this task: all of them, or none and it runs again.
Outcome execute_plan(const PlanExecution& job, Services& services, Context& task) {
  const auto order = in_order(job.plan);
  if (!order) refuse(order.error());
  const TaskId run = job.run.value_or(task.id());
  const Folder kept = steps_of(services, job.plan.name, run);
  std::map<std::string, std::string> results;
  for (const Step* step : *order) {
    if (task.stop_requested()) return millrace::GiveBack{};  // goes on from here another time
    results[step->name] = result_of(*step, results, kept, services, task);
    task.progress(100.0 * static_cast<double>(results.size()) / static_cast<double>(order->size()));
  }
  for (const Artifact& artifact : job.plan.artifacts) {
    value_or_throw(task.put(artifacts_queue, generation_of(artifact, job.plan, run, results),
                            follow_up(task, "artifact_generation")));
  }
  return millrace::Done{
      millrace::encode(Executed{.steps = order->size(), .artifacts = job.plan.artifacts.size()})};
}

// Tasks may also come over HTTP, and their names become paths.
void check_paths(const std::string& plan, const std::vector<std::string>& files) {
  if (!is_name(plan)) refuse({ErrorCode::invalid, fmt::format("\"{}\" is not a plan", plan)});
  for (const std::string& file : files) {
    if (!is_file(file)) refuse({ErrorCode::invalid, fmt::format("\"{}\" is not a file", file)});
  }
}

// The step that writes last sees all files and puts the collection. Two may be last at the same
// time: the second put finds the first one's key.
Generated generate(const ArtifactGeneration& job, Services& services, Context& task) {
  check_paths(job.plan, job.files);
  check_paths(job.plan, {job.file});
  const Folder folder = artifacts_of(services, job.plan, job.run);
  const std::string text = text_of(job);
  write(folder, job.file, text, services);
  if (std::ranges::all_of(job.files, [&](const auto& file) { return folder.has(file); })) {
    NewTask collection = follow_up(task, "artifact_collection");
    collection.unique = millrace::UniqueKey{.key = millrace::to_text(job.run)};
    value_or_throw(task.put(
        artifacts_queue, ArtifactCollection{.run = job.run, .plan = job.plan, .files = job.files},
        std::move(collection)));
  }
  return {.file = job.file, .bytes = text.size()};
}

Collected collect(const ArtifactCollection& job, Services& services) {
  check_paths(job.plan, job.files);
  const Folder folder = artifacts_of(services, job.plan, job.run);
  std::string index = fmt::format("# {}\n\n", job.plan);
  for (const std::string& file : job.files) {
    const auto text = value_or_throw(folder.read(file));
    if (!text) throw std::runtime_error(fmt::format("artifact {} is gone", file));
    index += fmt::format("- [{}]({}), {} bytes\n", file, file, text->size());
  }
  write(folder, "index.md", index, services);
  folder.sweep();
  steps_of(services, job.plan, job.run).sweep();
  return {.index = "index.md", .artifacts = job.files.size()};
}

// As the plan's table has them: one task at a time in the whole system, middle priority, results
// kept. Stored with the queue when it is made; from then on operators may change it.
HandlerOptions queue_options(Services& services) {
  const millrace::Hook told = [&services](const millrace::TaskEvent& event) {
    services.told(event);
  };
  return {.concurrency = 1,
          .max_concurrent = 1,
          .retry = retry_rules(),
          .priority = millrace::default_priority,
          .keep_completed = millrace::Keep{},
          .keep_dead = millrace::Keep{},
          .on_completed = told,
          .on_failed = told,
          .on_requeued = told,
          .on_dead = told};
}

}  // namespace

millrace::RetryRules retry_rules() {
  return {.backoff = millrace::Backoff::exponential,
          .base = 10s,
          .factor = 2,
          .cap = 1h,
          .jitter = millrace::Jitter::none,
          .max_retries = 3};
}

millrace::AppOptions app_options() {
  return {.order = millrace::QueueOrder::strict, .shutdown_timeout = 30s};
}

TaskId run_of(const millrace::Lease& task) {
  const auto payload = millrace::parse_json(task.payload);
  const millrace::Value* run = payload ? payload->find("run") : nullptr;
  if (run == nullptr) return task.id;
  return millrace::decode<TaskId>(millrace::to_json(*run)).value_or(task.id);
}

Folder artifacts_of(const Services& services, const std::string& plan, TaskId run) {
  return Folder(services.output / plan / millrace::to_text(run));
}

Folder steps_of(const Services& services, const std::string& plan, TaskId run) {
  return Folder(artifacts_of(services, plan, run).path() / "steps");
}

Planner::Planner(App& app, Services& services)
    : planning_(app.handle_type<PlanRequest>(planning_queue, "planning", make_and_put)),
      execution_(app.handle_type<PlanExecution>(
          plans_queue, "plan_execution", [&services](const PlanExecution& job, Context& task) {
            return execute_plan(job, services, task);
          })) {
  for (const char* queue : {planning_queue, plans_queue, artifacts_queue}) {
    app.queue(queue, queue_options(services));
  }
  app.handle_type<ArtifactGeneration>(artifacts_queue, "artifact_generation",
                                      [&services](const ArtifactGeneration& job, Context& task) {
                                        return generate(job, services, task);
                                      });
  app.handle_type<ArtifactCollection>(
      artifacts_queue, "artifact_collection",
      [&services](const ArtifactCollection& job) { return collect(job, services); });
}

Put Planner::plan(const PlanRequest& request, millrace::PutOptions options) const {
  value_or_throw(make_plan(request));
  return planning_(request, std::move(options));
}

Put Planner::execute(const Plan& plan, millrace::PutOptions options) const {
  value_or_throw(in_order(plan));
  return execution_({.run = std::nullopt, .plan = plan}, std::move(options));
}

}  // namespace planner
