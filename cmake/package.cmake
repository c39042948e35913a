# Millrace as a package: one library of all the rooms an App needs, the public headers, and what
# find_package(millrace) reads. `cmake --install build/release --prefix DIR` puts it there.
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

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/millrace)
install(TARGETS millrace_package EXPORT millrace FILE_SET HEADERS)
install(TARGETS millrace)
install(EXPORT millrace NAMESPACE millrace:: FILE millrace-targets.cmake DESTINATION ${package_folder})
configure_package_config_file(cmake/millrace-config.cmake.in millrace-config.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(millrace-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/millrace-config.cmake ${PROJECT_BINARY_DIR}/millrace-config-version.cmake
  DESTINATION ${package_folder})
