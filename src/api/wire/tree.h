// JSON as a tree, for documents in a format that is not our own.
#pragma once

#include <millrace/result.h>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace millrace::wire {

// JSON as text on one line, numbers as short as they can be.
std::string to_text(const boost::json::value& json);

// One JSON value and nothing else but white space. At most 32 levels deep. `invalid` names the
// position of the error.
Result<boost::json::value> parse(std::string_view text);

}  // namespace millrace::wire
