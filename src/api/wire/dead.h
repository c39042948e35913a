// Dead letters by what they died of, as GET /v1/dead/groups answers them.
#pragma once

#include <millrace/result.h>
#include <cstddef>
#include <string>
#include <string_view>

#include "broker/found_groups.h"

namespace millrace::wire {

// The `most` largest groups; `more` counts the others.
std::string text_of(FoundGroups found, std::size_t most);
Result<FoundGroups> groups_from(std::string_view text);

}  // namespace millrace::wire
