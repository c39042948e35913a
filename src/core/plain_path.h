// Paths that may stand in web pages, cookies and settings as they are.
#pragma once

#include <string_view>

namespace millrace {

// / or /admin/queues: nothing but letters, digits and . _ ~ - between its slashes, no part of it
// empty, . or .., at most 256 bytes. It may end in a slash.
bool is_plain_path(std::string_view path);

// The same with all that browsers leave in a path (RFC 3986), percent-escapes included, but without
// ; and , which end things in headers: for cookies.
bool is_cookie_path(std::string_view path);

}  // namespace millrace
