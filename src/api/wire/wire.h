// Domain values as JSON and back: the only room that knows the wire format.
//
// Moments are RFC 3339 in UTC with milliseconds, or "never"; durations are whole milliseconds under
// a key that ends in _ms; enumerators are their names; a number without a limit is "unlimited".
// Bytes (payload, result, metadata, texts of handlers) are a string with exactly these bytes if
// they are UTF-8, and otherwise base64 under the key with _base64 behind it. What is empty is left
// out, and null means the same as left out.
//
// Reading checks the shape: types, names, whole numbers in range. Whether a value is within the
// limits is core/validate's to say. Errors are `invalid` and name the place: task.retry.base_ms.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "store/store.h"

namespace millrace::wire {

// Keys that no field has. A caller that misspells one must hear of it; a file from a newer Millrace
// may have more than we know.
enum class UnknownKeys : bool { refuse, ignore };

boost::json::object to_json(const NewTask& task);
boost::json::object to_json(const Task& task);
boost::json::object to_json(const QueueSettings& settings);
boost::json::object to_json(const Queue& queue);
boost::json::object to_json(const Schedule& schedule);
boost::json::object to_json(const Memo& memo);

// `what` is how errors call the value: "task". For each of the types above.
template <class T>
Result<T> from_json(const boost::json::value& json, std::string_view what,
                    UnknownKeys unknown = UnknownKeys::refuse);

// JSON as text on one line, numbers as short as they can be.
std::string to_text(const boost::json::value& json);

// One JSON value and nothing else but white space. At most 32 levels deep. `invalid` says where it
// stops making sense.
Result<boost::json::value> parse(std::string_view text);

}  // namespace millrace::wire
