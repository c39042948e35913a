// The checkpoint of a task whose handler works in steps: {"steps":{"charge":{...},"mail":null}}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::worker {

// The JSON that a step has stored; nullopt: none yet. Both throw a TaskFailure, which no retry can
// help, if the checkpoint is of another kind or the name is none.
std::optional<std::string> result_of(const std::string& checkpoint, std::string_view step);
// The checkpoint with one more step, or with the new result of one that is tried again.
std::string with_step(const std::string& checkpoint, std::string_view step, std::string_view json);
// Throws such a TaskFailure for a name that the run has used already: a second step would get the
// result of the first.
[[noreturn]] void refuse_repeated(std::string_view step);

}  // namespace millrace::worker
