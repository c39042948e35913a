#include "worker/steps.h"

#include <fmt/format.h>
#include <millrace/handler.h>
#include <millrace/value.h>

#include <algorithm>

#include "core/validate.h"

namespace millrace::worker {
namespace {

[[noreturn]] void refuse(std::string message) {
  throw TaskFailure({.code = "step_invalid", .message = std::move(message)}, false);
}

Object steps_of(const std::string& checkpoint) {
  if (checkpoint.empty()) return {};
  auto value = parse_json(checkpoint);
  const Value* steps = value ? value->find("steps") : nullptr;
  if (steps == nullptr || !std::holds_alternative<Object>(steps->any)) {
    refuse(
        "the task has a checkpoint that no step has written; use steps or checkpoints of your "
        "own, not both");
  }
  return std::get<Object>(steps->any);
}

void check_name(std::string_view step) {
  if (auto good = validate_name({"step name", "name"}, step, true); !good) {
    refuse(std::move(good.error().message));
  }
}

}  // namespace

std::optional<std::string> result_of(const std::string& checkpoint, std::string_view step) {
  check_name(step);
  for (const Member& kept : steps_of(checkpoint)) {
    if (kept.name == step) return to_json(kept.value);
  }
  return std::nullopt;
}

std::string with_step(const std::string& checkpoint, std::string_view step, std::string_view json) {
  check_name(step);
  Object steps = steps_of(checkpoint);
  auto value = parse_json(json);
  if (!value) refuse(fmt::format("step {} returned what is no JSON", step));
  const auto kept = std::ranges::find(steps, step, &Member::name);
  if (kept == steps.end()) {
    steps.push_back({.name = std::string(step), .value = std::move(*value)});
  } else {
    kept->value = std::move(*value);
  }
  return to_json({.any = Object{{.name = "steps", .value = {.any = std::move(steps)}}}});
}

void refuse_repeated(std::string_view step) {
  refuse(
      fmt::format("the name of step {} is used twice in one run; give each step of a task a name "
                  "of its own, such as {}-2",
                  step, step));
}

}  // namespace millrace::worker
