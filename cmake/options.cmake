# What a build may choose, and the flags that follow from it. CMakePresets.json makes the choices.

option(MILLRACE_TESTS "Build tests and examples" ON)
option(MILLRACE_BENCHES "Build the benches; ./dev bench and ./dev check do" OFF)
option(MILLRACE_DASHBOARD "Build the dashboard into the program (needs Node and npm)" OFF)
option(MILLRACE_FUZZ "Build the fuzzers (clang only)" OFF)
option(MILLRACE_COVERAGE "Count executed lines (g++ only)" OFF)
set(MILLRACE_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize= takes them")
set(MILLRACE_TIMEOUT_FACTOR 1 CACHE STRING "Multiplies every test's time limit (slow builds)")

# Warnings are errors with the compilers that the project is developed with. Any other compiler may
# warn about more, and must not break a user's build because of it (docs/adr/0003).
set(werror_default OFF)
string(REGEX MATCH "^[0-9]+" compiler_major "${CMAKE_CXX_COMPILER_VERSION}")
if("${CMAKE_CXX_COMPILER_ID} ${compiler_major}" MATCHES "^(GNU 12|Clang 19)$")
  set(werror_default ON)
endif()
option(MILLRACE_WERROR "Treat warnings as errors" ${werror_default})

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)  # ./dev check compiles every header on its own

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# -g1 gives stack traces their function names and lines, at a fraction of the size of -g.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")

# The warnings of our own targets; third-party headers are included as SYSTEM and stay silent.
# Where files are compiled together, a local name may be that of a constant in another file; clang, which compiles
# each file on its own, warns of names hidden within a file.
set(warnings -Wall -Wextra -Wpedantic -Wconversion
  $<IF:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,-Wshadow=local,-Wshadow>)
# Options are passed as aggregates with defaults, of which callers name only some of the fields.
list(APPEND warnings -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 wrongly sees overlapping and out-of-bounds copies in std::string (GCC bugs 105651,
  # 105329).
  list(APPEND warnings -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
  # g++ 12.2 at -O2 miscompiles moves of Result<std::vector<T>>, depending on what else is in the file: what the destructor
  # of the source reads, a pointer of the vector or of the message, is read before the move (code hoisting, allowed by
  # aliasing by type), so the message is freed twice.
  add_compile_options(-fno-strict-aliasing)
  if(MILLRACE_SANITIZE OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # Wrong about std::optional<std::string> in later g++, and about everything under a sanitizer.
    list(APPEND warnings -Wno-maybe-uninitialized)
  endif()
  if(MILLRACE_SANITIZE MATCHES "thread")
    # Asio uses fences, which the thread sanitizer does not see; the same data is also behind
    # mutexes.
    list(APPEND warnings -Wno-tsan)
  endif()
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Warnings that g++ leaves out of -Wextra and -Wconversion; one set of warnings is enough.
  list(APPEND warnings -Wno-missing-designated-field-initializers -Wno-sign-conversion)
  # Fields are used under their mutex: core/thread_annotations.h.
  list(APPEND warnings -Wthread-safety -Wthread-safety-beta)
  # std::stable_sort of libstdc++ 12 uses what the library itself deprecates.
  list(APPEND warnings -Wno-deprecated-declarations)
endif()
if(MILLRACE_WERROR)
  list(APPEND warnings -Werror)
endif()
add_library(millrace_warnings INTERFACE)
target_compile_options(millrace_warnings INTERFACE ${warnings})

if(MILLRACE_SANITIZE)
  # -O1: most of the speed of -O2 for half of its compile time, and readable stacks.
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1")
  add_compile_options(-fsanitize=${MILLRACE_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${MILLRACE_SANITIZE})
endif()
if(MILLRACE_COVERAGE)
  add_compile_options(--coverage -fprofile-abs-path -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache needs to know of precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
