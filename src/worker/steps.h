// The checkpoint of a task whose handler works in steps: {"steps":{"charge":{...},"mail":null}}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::worker {

// The JSON that a step has stored; nullopt: none yet. Both throw a TaskFailure, which no retry can
// help, if the checkpoint is of another kind or the name is none.
std::optional<std::string> result_of(const std::string& checkpoint, std::string_view step);
// The checkpoint with one more step.
std::string with_step(const std::string& checkpoint, std::string_view step, std::string_view json);

}  // namespace millrace::worker
