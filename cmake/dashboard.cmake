# The web page: npm gets what package-lock.json names, Vite builds it, and its files become a C++ source.
#
#   millrace_dashboard(source)          sets `source`, to be among the SOURCES of the room pages
#
#   millrace_browser_tests()            each tests/*.spec.ts is the test dashboard/*, in Debian's Chromium
#
# Without MILLRACE_DASHBOARD nothing here needs Node.
function(millrace_dashboard out)
  find_program(NODE node)
  find_program(NPM npm)
  if(NOT NODE OR NOT NPM)
    message(FATAL_ERROR "MILLRACE_DASHBOARD needs node (18 or newer) and npm; on Debian: apt-get install nodejs npm. "
      "-D MILLRACE_DASHBOARD=OFF builds without the dashboard.")
  endif()
  set(page ${PROJECT_SOURCE_DIR}/dashboard)
  set(built ${PROJECT_BINARY_DIR}/dashboard)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${page}/src/*)

  add_custom_command(OUTPUT ${built}/installed
    COMMAND ${NODE} ${page}/scripts/install.mjs
    COMMAND ${CMAKE_COMMAND} -E touch ${built}/installed
    DEPENDS ${page}/package-lock.json ${page}/scripts/install.mjs
    COMMENT "Installing the packages of the dashboard" VERBATIM)
  add_custom_command(OUTPUT ${built}/files.cc
    COMMAND ${CMAKE_COMMAND} -E env MILLRACE_DASHBOARD_OUT=${built}/dist
      ${NODE} node_modules/vite/bin/vite.js build --logLevel warn
    COMMAND ${NODE} scripts/embed.mjs ${built}/dist ${built}/files.cc
    DEPENDS ${built}/installed ${sources} ${page}/index.html ${page}/vite.config.ts ${page}/svelte.config.js
      ${page}/scripts/embed.mjs
    WORKING_DIRECTORY ${page}
    COMMENT "Building the dashboard" VERBATIM)
  # Checks the types of the page, which Vite does not do.
  add_custom_target(dashboard_check
    COMMAND ${NODE} node_modules/svelte-check/bin/svelte-check --tsconfig ./tsconfig.json --fail-on-warnings
    COMMAND ${NODE} node_modules/typescript/bin/tsc -p tests/tsconfig.json
    DEPENDS ${built}/installed
    WORKING_DIRECTORY ${page}
    COMMENT "Checking the dashboard" VERBATIM)
  set(${out} ${built}/files.cc PARENT_SCOPE)
endfunction()

function(millrace_browser_tests)
  if(NOT MILLRACE_DASHBOARD)
    return()
  endif()
  set(page ${PROJECT_SOURCE_DIR}/dashboard)
  file(GLOB specs CONFIGURE_DEPENDS ${page}/tests/*.spec.ts)
  millrace_time_limit(limit 600)
  foreach(spec IN LISTS specs)
    cmake_path(GET spec STEM name)
    add_test(NAME dashboard/${name}
      COMMAND ${NODE} node_modules/@playwright/test/cli.js test tests/${name}.spec.ts
      WORKING_DIRECTORY ${page})
    set_tests_properties(dashboard/${name} PROPERTIES TIMEOUT ${limit} ENVIRONMENT
      "MILLRACE_PROGRAM=$<TARGET_FILE:millrace>;MILLRACE_DASHBOARD_RESULTS=${PROJECT_BINARY_DIR}/dashboard/results/${name}")
  endforeach()
endfunction()
