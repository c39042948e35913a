# SQL lives in files, one statement per file, with its contract in comments on top; C++ gets the
# statements as objects.
#
#   millrace_sql(millrace_store_postgres
#     HEADER store/postgres/sql.h       what to include; it is made in the build folder
#     NAMESPACE millrace::store_postgres::sql
#     KEEP_COMMENTS                     those on top of a file stay in the text (they are left out otherwise)
#     WORDS sql/words.cmake             words and parameters have names, see below (without: the text is left alone)
#     FILES sql/put.sql sql/take.sql)
#
# sql/put.sql becomes `inline constexpr millrace::postgres::Sql put{"put", "..."}`; where a name begins with a digit, as
# those of migrations do, the object has an m in front (m0001_tables). `all` holds pointers to all, in the order of FILES.
#
# With WORDS no file of SQL has a number of a state, a list of columns or a $1 in it:
#
#   in words.cmake                      in SQL                          in C++
#   number(queued 1)                    {{queued}}                      sql::words::queued
#   numbers(later_states delayed ...)   state in ({{later_states}})     sql::words::later_states, a std::array
#   columns(row number id ...)          {{row}}, {{t.row}} with "t."    rows.get<Uuid>(i, sql::RowColumns::id)
#   columns(given type:text ...)        unnest({{given[]}}): an array   sql::GivenArrays, a postgres::Array a column
#                                       of that type for each
#                                       where queue = :queue            a value of sql::HasTasks{.queue = ...}
#
# A file with parameters becomes a struct as well, named as the file is (has_tasks.sql: HasTasks), with a member for each
# parameter, in the order in which they are first used; a value of it is one call. A name that is missing, too many or out of
# order does not compile. The arrays of {{given[]}} are one member, `given`. Read the outcome in build/*/generated.
#
# A file whose comment says "variants: take, take_ageing." becomes a statement for each; lines between "--only take" and
# "--end take" are in that one only. All have the same parameters, and the struct of the file is for all of them.
function(millrace_sql target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "KEEP_COMMENTS" "HEADER;NAMESPACE;WORDS" "FILES")
  millrace_check_arguments("millrace_sql(${target})" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_HEADER OR NOT arg_NAMESPACE OR NOT arg_FILES)
    message(FATAL_ERROR "millrace_sql(${target}) needs HEADER, NAMESPACE and FILES; see cmake/sql.cmake.")
  endif()

  set(generated ${PROJECT_BINARY_DIR}/generated)
  set(header ${generated}/${arg_HEADER})
  list(TRANSFORM arg_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
  set(words "")
  if(arg_WORDS)
    set(words ${CMAKE_CURRENT_SOURCE_DIR}/${arg_WORDS})
  endif()
  set(how -D HEADER=${header} -D NAMESPACE=${arg_NAMESPACE} -D "WORDS=${words}" -D KEEP_COMMENTS=${arg_KEEP_COMMENTS}
    -P ${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake)
  if(NOT EXISTS ${header})  # clang-tidy and editors read files that no build has made
    execute_process(COMMAND ${CMAKE_COMMAND} -D "FILES=${files}" ${how} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -D "FILES=${files}" ${how}
    DEPENDS ${files} ${words} ${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake
    COMMENT "Embedding SQL as ${arg_HEADER}" VERBATIM)
  target_sources(${target} PRIVATE ${header})
  # A target of its own, so that tests wait for the header, too, though it is not among their
  # sources.
  string(MAKE_C_IDENTIFIER ${arg_HEADER} name)
  add_custom_target(embed_${name} DEPENDS ${header})
  add_dependencies(${target} embed_${name})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${generated}>)
  target_link_libraries(${target} PUBLIC millrace_postgres)
endfunction()
