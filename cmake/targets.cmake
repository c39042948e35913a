# The shapes a target may have. Every CMakeLists.txt of the tree is written in these words.

# A room: the static library millrace_<name> and, from TESTS, the test program <name>_test.
#
#   millrace_room(core
#     SOURCES cron.cc retry.cc          listed by name; tidy finds sources that are not listed
#     HEADERS cron.h retry.h            relative to the room's folder; each must compile on its own
#     LINK fmt::fmt                     what the room's headers and sources need, seen by its users too
#     LINK_PRIVATE Boost::headers        what only its sources need
#     TOGETHER                          the sources are compiled eight at a time, in half the time; names of anonymous
#                                       namespaces must then be different in the whole room
#     APART request_parser.cc           but these each on its own
#     TESTS cron_test.cc retry_test.cc
#     TEST_LINK millrace_test_support   what only the tests need
#     TEST_TIMEOUT 60                   seconds, for each single test
#     ONE_TEST)                         ctest runs all of them as one, <folder>/all; for tests that share a server,
#                                       whose start costs more than they do (TEST_TIMEOUT is for all of them)
#     FAST_TESTS                        the tests are optimised as the product is: for those that compute much
#
# Files include "<room>/<file>.h" and <millrace/<file>.h>.
function(millrace_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_TEST;FAST_TESTS;TOGETHER" "TEST_TIMEOUT"
    "SOURCES;HEADERS;LINK;LINK_PRIVATE;APART;TESTS;TEST_LINK")
  millrace_check_arguments("millrace_room(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "millrace_room(${name}) has no SOURCES: a room is a library; name at least one .cc file.")
  endif()

  add_library(millrace_${name} STATIC ${arg_SOURCES})
  target_sources(millrace_${name} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${arg_HEADERS})
  target_link_libraries(millrace_${name}
    PUBLIC millrace_headers ${arg_LINK}
    PRIVATE $<BUILD_INTERFACE:millrace_warnings> ${arg_LINK_PRIVATE})
  millrace_precompiled(millrace_${name} product)
  # clang compiles each file on its own: clang-tidy, the analysis of locks and the fuzzers see what a file includes itself.
  if(arg_TOGETHER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    set_target_properties(millrace_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    set_source_files_properties(${arg_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()

  if(arg_TESTS AND MILLRACE_TESTS)
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src
               OUTPUT_VARIABLE folder)
    set(kind)
    if(arg_ONE_TEST)
      list(APPEND kind ONE_TEST)
    endif()
    if(arg_FAST_TESTS)
      list(APPEND kind FAST)
    endif()
    millrace_test(${name}_test SOURCES ${arg_TESTS} LINK millrace_${name} ${arg_TEST_LINK}
                  PREFIX ${folder} TIMEOUT ${arg_TEST_TIMEOUT} ${kind})
  endif()
endfunction()

# A GoogleTest program; ctest knows each of its tests as <PREFIX>/<Suite>.<name>.
#
#   millrace_test(conformance_memory SOURCES memory.cc LINK millrace_conformance ...
#     PREFIX conformance                what the tests are called in ctest; the target's name if left out
#     TIMEOUT 60                        seconds, for each single test
#     ONE_TEST                          as in millrace_room
#     FAST)                             as FAST_TESTS there
function(millrace_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_TEST;FAST" "PREFIX;TIMEOUT" "SOURCES;LINK")
  millrace_check_arguments("millrace_test(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_PREFIX)
    set(arg_PREFIX ${name})
  endif()
  millrace_time_limit(limit "${arg_TIMEOUT}")

  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE millrace_warnings ${arg_LINK} GTest::gmock_main)
  if(arg_FAST)
    millrace_precompiled(${name} product)
  else()
    millrace_precompiled(${name} test)
  endif()
  if(arg_ONE_TEST)
    add_test(NAME ${arg_PREFIX}/all COMMAND ${name} --gtest_brief=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${arg_PREFIX}/all PROPERTIES TIMEOUT ${limit})
    return()
  endif()
  # PRE_TEST: ctest asks the program for its tests when it runs, not at build time.
  gtest_discover_tests(${name} TEST_PREFIX "${arg_PREFIX}/" DISCOVERY_MODE PRE_TEST
    NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES TIMEOUT ${limit})
endfunction()

# The headers that nearly every file includes are compiled once. No file may count on them: each
# includes what it uses, and clang-tidy, which compiles without them, reports a file that does not.
set(millrace_common_headers
  <fmt/format.h>
  <millrace/ids.h> <millrace/queue.h> <millrace/result.h> <millrace/schedule.h> <millrace/task.h> <millrace/time.h>
  <millrace/work.h>
  <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <deque> <expected> <functional> <map> <memory> <mutex>
  <optional> <ranges> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>)
set(millrace_test_headers <gmock/gmock.h> <gtest/gtest.h>)

# The headers that `product` or `test` sources share are precompiled. Tests are compiled with -O1:
# most of them do not wait for the processor. g++ only: clang serves clang-tidy and the fuzzers.
#
#   millrace_precompiled(millrace_test_support test)
function(millrace_precompiled target kind)
  set(quick "")
  if(kind STREQUAL "test" AND CMAKE_BUILD_TYPE STREQUAL "Release")
    set(quick -O1)
  endif()
  target_compile_options(${target} PRIVATE ${quick})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(shared millrace_precompiled_${kind})
  if(NOT TARGET ${shared})
    file(WRITE ${PROJECT_BINARY_DIR}/precompiled_${kind}.cc "")
    add_library(${shared} OBJECT ${PROJECT_BINARY_DIR}/precompiled_${kind}.cc)
    target_link_libraries(${shared} PRIVATE millrace_warnings millrace_headers fmt::fmt)
    target_compile_options(${shared} PRIVATE ${quick})
    target_precompile_headers(${shared} PRIVATE ${millrace_common_headers})
    # g++ knows a header again by its time of change, so a result that ccache kept from before a git checkout would not fit.
    set_target_properties(${shared} PROPERTIES CXX_COMPILER_LAUNCHER "")
    if(kind STREQUAL "test")
      target_link_libraries(${shared} PRIVATE GTest::gmock)
      target_precompile_headers(${shared} PRIVATE ${millrace_test_headers})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()

# A benchmark: build/<preset>/bench/<name>_bench, run by `./dev bench <name>`. ctest runs it with
# --smoke, which must do one short iteration of everything.
function(millrace_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LINK")
  millrace_check_arguments("millrace_bench(${name})" "${arg_UNPARSED_ARGUMENTS}")
  millrace_time_limit(limit "${arg_TIMEOUT}")

  add_executable(${name}_bench ${arg_SOURCES})
  set_target_properties(${name}_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_include_directories(${name}_bench PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name}_bench PRIVATE millrace_warnings ${arg_LINK})
  add_test(NAME bench/${name} COMMAND ${name}_bench --smoke)
  set_tests_properties(bench/${name} PROPERTIES TIMEOUT ${limit})
endfunction()

# An example: a complete program; ctest runs it, with ARGUMENTS, and expects it to succeed.
function(millrace_example name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LINK;ARGUMENTS")
  millrace_check_arguments("millrace_example(${name})" "${arg_UNPARSED_ARGUMENTS}")
  millrace_time_limit(limit "${arg_TIMEOUT}")

  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE millrace_warnings ${arg_LINK})
  add_test(NAME examples/${name} COMMAND ${name} ${arg_ARGUMENTS})
  set_tests_properties(examples/${name} PROPERTIES TIMEOUT ${limit})
endfunction()

# A libFuzzer program: build/fuzz/fuzz/<name>_fuzz, run by `./dev fuzz <name>`.
function(millrace_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  millrace_check_arguments("millrace_fuzzer(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT MILLRACE_FUZZ)
    return()
  endif()

  add_executable(${name}_fuzz ${arg_SOURCES})
  set_target_properties(${name}_fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  target_include_directories(${name}_fuzz PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name}_fuzz PRIVATE millrace_warnings ${arg_LINK})
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
endfunction()

# Otherwise a mistyped keyword would be ignored silently.
function(millrace_check_arguments call unparsed)
  if(unparsed)
    message(FATAL_ERROR "${call} does not know what to do with \"${unparsed}\"; see cmake/targets.cmake.")
  endif()
endfunction()

function(millrace_time_limit out seconds)
  if(NOT seconds)
    set(seconds 60)
  endif()
  math(EXPR limit "${seconds} * ${MILLRACE_TIMEOUT_FACTOR}")
  set(${out} ${limit} PARENT_SCOPE)
endfunction()
