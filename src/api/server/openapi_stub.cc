#include "api/server/openapi.h"

namespace millrace::api {

std::string_view openapi_json() {
  return "{}";
}

}  // namespace millrace::api
