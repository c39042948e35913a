// The schema that a program's tables are in, which is a setting.
#pragma once

#include <millrace/result.h>
#include <string>
#include <string_view>

namespace millrace::postgres {

inline constexpr std::string_view written_schema = "millrace";

// `invalid` unless it is 1 to 63 small letters, digits and underscores, not a digit first, and not
// one of PostgreSQL's own (pg_...).
Result<void> check_schema(std::string_view schema);

// SQL is written with `millrace.` before every table and function, and runs as it is where that is
// the schema. Each `millrace.` that begins a word, and each `"millrace"` in double quotes (for
// where the schema stands alone: CREATE SCHEMA "millrace"), becomes the configured one in quotes,
// everywhere: in strings ('millrace.tasks'::regclass), comments and bodies of functions, too.
// Nothing else is changed, so a name that must stay, such as that of a setting, must not be written
// in this way.
std::string with_schema(std::string_view text, std::string_view schema);

}  // namespace millrace::postgres
