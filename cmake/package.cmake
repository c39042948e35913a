# Millrace as a package: the program, and one library of all the rooms an App needs.
# `cmake --install build/release --prefix DIR` puts there what was built.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(rooms core disk process payload postgres store store_book store_embedded store_journal
    store_postgres store_snapshot broker outgoing worker api_wire api_client transfer access api_server
    log app)
add_library(millrace_package STATIC)
foreach(room IN LISTS rooms)
  target_sources(millrace_package PRIVATE $<TARGET_OBJECTS:millrace_${room}>)
endforeach()
set_target_properties(millrace_package PROPERTIES OUTPUT_NAME millrace EXPORT_NAME millrace LINKER_LANGUAGE CXX)
get_target_property(headers millrace_headers HEADER_SET)
target_sources(millrace_package PUBLIC
  FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
target_compile_features(millrace_package PUBLIC cxx_std_23)
target_link_libraries(millrace_package PRIVATE
  fmt::fmt CURL::libcurl OpenSSL::SSL OpenSSL::Crypto PostgreSQL::PostgreSQL Threads::Threads)

# The program, with its unit, completions and pages. The library is installed if it was built: `./dev run` builds
# the program only.
install(TARGETS millrace)
# The unit starts the program where it was installed.
install(CODE "
  file(READ \"${PROJECT_SOURCE_DIR}/deploy/systemd/millrace.service\" unit)
  string(REPLACE /usr/local/bin/millrace \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/millrace\" unit \"\${unit}\")
  set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/millrace.service\")
  message(STATUS \"Installing: \${file}\")
  file(WRITE \"\${file}\" \"\${unit}\")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")")
install(DIRECTORY deploy/ DESTINATION ${CMAKE_INSTALL_DATADIR}/millrace)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN images EXCLUDE)
function(install_completion shell file)
  install(CODE "
    set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${file}\")
    message(STATUS \"Installing: \${file}\")
    get_filename_component(folder \"\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:millrace>\" completion ${shell} OUTPUT_FILE \"\${file}\")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")")
endfunction()
install_completion(bash bash-completion/completions/millrace)
install_completion(zsh zsh/site-functions/_millrace)
install_completion(fish fish/vendor_completions.d/millrace.fish)
add_subdirectory(cmake/library)
