# SQL lives in files, one statement each with its contract in comments on top; C++ gets them as objects.
#
#   millrace_sql(millrace_store_postgres
#     HEADER store/postgres/sql.h       what to include; it is made in the build folder
#     NAMESPACE millrace::store_postgres::sql
#     KEEP_COMMENTS                     those on top of a file stay in the text (they are left out otherwise)
#     FILES sql/put.sql sql/take.sql)
#
# sql/put.sql becomes `inline constexpr millrace::postgres::Sql put{"put", "..."}`; where a name begins with a digit, as
# those of migrations do, the object has an m in front (m0001_tables). `all` holds pointers to all, in the order of FILES.
function(millrace_sql target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "KEEP_COMMENTS" "HEADER;NAMESPACE" "FILES")
  millrace_check_arguments("millrace_sql(${target})" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_HEADER OR NOT arg_NAMESPACE OR NOT arg_FILES)
    message(FATAL_ERROR "millrace_sql(${target}) needs HEADER, NAMESPACE and FILES; see cmake/sql.cmake.")
  endif()

  set(generated ${PROJECT_BINARY_DIR}/generated)
  set(header ${generated}/${arg_HEADER})
  list(TRANSFORM arg_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
  if(NOT EXISTS ${header})  # clang-tidy and editors read what nobody has built
    execute_process(COMMAND ${CMAKE_COMMAND} -D "FILES=${files}" -D HEADER=${header} -D NAMESPACE=${arg_NAMESPACE}
      -D KEEP_COMMENTS=${arg_KEEP_COMMENTS} -P ${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake COMMAND_ERROR_IS_FATAL ANY)
  endif()
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -D "FILES=${files}" -D HEADER=${header} -D NAMESPACE=${arg_NAMESPACE}
      -D KEEP_COMMENTS=${arg_KEEP_COMMENTS} -P ${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake
    COMMENT "Embedding SQL as ${arg_HEADER}" VERBATIM)
  target_sources(${target} PRIVATE ${header})
  # A target of its own, so that tests, which do not have the header among their sources, wait for it, too.
  string(MAKE_C_IDENTIFIER ${arg_HEADER} name)
  add_custom_target(embed_${name} DEPENDS ${header})
  add_dependencies(${target} embed_${name})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${generated}>)
  target_link_libraries(${target} PUBLIC millrace_postgres)
endfunction()
