# Run at build time by millrace_sql(): FILES of SQL become HEADER, objects in NAMESPACE.
set(objects "")
set(all "")
foreach(file IN LISTS FILES)
  file(READ ${file} text)
  cmake_path(GET file STEM name)
  if(NOT name MATCHES "^[a-z0-9_]+$")
    message(FATAL_ERROR "${file}: the name becomes that of a C++ object; a to z, 0 to 9 and _ are allowed.")
  endif()
  set(object ${name})
  if(name MATCHES "^[0-9]")
    set(object m${name})
  endif()
  if(NOT KEEP_COMMENTS)
    string(REGEX REPLACE "^((--[^\n]*)?\n)+" "" text "${text}")
  endif()
  string(STRIP "${text}" text)
  if(text STREQUAL "")
    message(FATAL_ERROR "${file} has no SQL in it.")
  endif()
  string(FIND "${text}" ")sql\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${file} has )sql\" in it, which ends the C++ literal that it becomes.")
  endif()
  string(APPEND objects "inline constexpr postgres::Sql ${object}{\"${name}\", R\"sql(${text})sql\"};\n")
  string(APPEND all "    &${object},\n")
endforeach()
# Both `postgres::` and `millrace::postgres::` are found, since the namespace is inside of millrace.
file(WRITE ${HEADER} "// Made from files of SQL by cmake/embed_sql.cmake.
#pragma once

#include \"postgres/sql.h\"

namespace ${NAMESPACE} {

${objects}
inline constexpr const postgres::Sql* all[] = {
${all}};

}  // namespace ${NAMESPACE}
")
