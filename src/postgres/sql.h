// One statement as it lies in a file of SQL; millrace_sql() in cmake/sql.cmake makes them.
#pragma once

#include <string_view>

namespace millrace::postgres {

// Both must live as long as any connection that has seen them: they are meant for constants.
struct Sql {
  std::string_view name;  // unique in the program; becomes part of the prepared statement's name
  std::string_view text;  // one command; tables are written as millrace.tasks, see schema.h
};

}  // namespace millrace::postgres
