// The head of a response as text. Whatever a handler puts into a header, the result is one head:
// line breaks in values become spaces, and names that are not valid are left out. Every response
// tells browsers not to guess its type.
#pragma once

#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/server/http.h"

namespace millrace::api {

struct HeadText {
  unsigned status = 200;
  std::string_view content_type = {};
  const std::vector<std::pair<std::string, std::string>>* headers = nullptr;
  std::string_view date = {};
  bool http11 = true;
  bool keep_alive = true;
  // Nothing: the body is chunked, or lasts until the connection ends where that is HTTP/1.0.
  std::optional<std::size_t> content_length = std::nullopt;
};

void append_head(std::string& out, const HeadText& head);

// A response of this status never has a body (204, 304).
bool is_bodiless(unsigned status);

// The handler asks for the connection to end with this response.
bool asks_to_close(const std::vector<std::pair<std::string, std::string>>& headers);

// Sun, 06 Nov 1994 08:49:37 GMT
std::string date_text(TimePoint now);

}  // namespace millrace::api
