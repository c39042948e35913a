// Actions as JSON, for the store and for the API.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/server/action_log.h"

namespace millrace::api {

std::string text_of(const std::vector<Action>& actions);  // {"actions":[…]}
std::optional<std::vector<Action>> read_actions(std::string_view text);
std::string text_of(const ActionPage& page);  // {"actions":[…],"next":…}

}  // namespace millrace::api
