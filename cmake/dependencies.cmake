# Everything Millrace takes from the system. ./dev installs the packages that provide it.

find_package(fmt REQUIRED CONFIG)             # libfmt-dev
# JSON, compiled from its headers; in tests also the hash map that benches compare the stores with.
find_package(Boost 1.81 REQUIRED CONFIG)      # libboost1.81-dev or, where it is new enough, libboost-dev
find_package(OpenSSL 3 REQUIRED)              # libssl-dev: TLS, keys
find_package(CURL REQUIRED)                   # libcurl4-openssl-dev: outgoing HTTP
find_package(tomlplusplus REQUIRED CONFIG)    # libtomlplusplus-dev: millrace.toml
find_package(yaml-cpp REQUIRED CONFIG)        # libyaml-cpp-dev: openapi.yaml, at build time
find_package(PostgreSQL 15 REQUIRED)          # libpq-dev: the PostgreSQL store
find_package(Threads REQUIRED)
find_package(CLI11 REQUIRED CONFIG)           # libcli11-dev
if(MILLRACE_TESTS)
  find_package(GTest REQUIRED CONFIG)         # libgtest-dev, libgmock-dev
  include(GoogleTest)
  # examples/partizap: pictures. libwebp brings no CMake files, and stb is headers only.
  find_path(WEBP_INCLUDE_DIR webp/encode.h REQUIRED)  # libwebp-dev
  find_library(WEBP_LIBRARY webp REQUIRED)
  find_path(STB_INCLUDE_DIR stb/stb_image.h REQUIRED)  # libstb-dev
  add_library(WebP::webp UNKNOWN IMPORTED)
  set_target_properties(WebP::webp PROPERTIES
    IMPORTED_LOCATION ${WEBP_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${WEBP_INCLUDE_DIR})
endif()
