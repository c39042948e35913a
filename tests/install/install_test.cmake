# install, configure, build, run: as a user would.
file(REMOVE_RECURSE ${SCRATCH})
set(prefix ${SCRATCH}/prefix)

function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

foreach(file IN ITEMS lib/systemd/system/millrace.service share/bash-completion/completions/millrace
        share/zsh/site-functions/_millrace share/fish/vendor_completions.d/millrace.fish
        share/millrace/systemd/millrace.toml)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
file(SIZE ${prefix}/share/bash-completion/completions/millrace size)
if(size LESS 100)
  message(FATAL_ERROR "the completion for bash is empty")
endif()

# Public headers and nothing else of ours.
file(GLOB_RECURSE headers RELATIVE ${prefix}/include ${prefix}/include/*)
list(LENGTH headers count)
if(count LESS 10 OR count GREATER 15)
  message(FATAL_ERROR "${count} headers were installed; at most 15 are public: ${headers}")
endif()
foreach(header IN LISTS headers)
  file(STRINGS ${prefix}/include/${header} includes REGEX "^#include")
  foreach(line IN LISTS includes)
    if(NOT line MATCHES "<millrace/[a-z_]+\\.h>|<[a-z_]+>")
      message(FATAL_ERROR "${header} includes what is neither Millrace's nor the standard library's: ${line}")
    endif()
  endforeach()
endforeach()

must(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${SCRATCH}/build -DCMAKE_PREFIX_PATH=${prefix}
     -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror ${FLAGS}")
must(${CMAKE_COMMAND} --build ${SCRATCH}/build)
must(${SCRATCH}/build/embedding --try)
if(NOT output MATCHES "the e-mail arrived")
  message(FATAL_ERROR "the program said:\n${output}")
endif()
must(${prefix}/bin/millrace --version)
file(REMOVE_RECURSE ${SCRATCH})
