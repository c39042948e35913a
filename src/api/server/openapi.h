// The description of the API, as it is served: openapi.yaml, made JSON when this was built.
#pragma once

#include <string_view>

namespace millrace::api {

std::string_view openapi_json();

}  // namespace millrace::api
