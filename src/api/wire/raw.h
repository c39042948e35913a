// The functions of payload/raw.h, in the namespace of this room.
#pragma once

#include "payload/raw.h"

namespace millrace::wire {

using json::is_json;
using json::is_json_object;
using json::is_json_type;
using json::is_space;
using json::max_depth;
using json::skip_string;
using json::skip_value;

}  // namespace millrace::wire
