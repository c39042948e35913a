// Bytes as text where text is all there is (RFC 4648, the standard alphabet, with padding).
#pragma once

#include <millrace/result.h>
#include <string>
#include <string_view>

namespace millrace {

std::string base64_encode(std::string_view bytes);

// Strict: no line breaks, no missing padding, no stray bits, so that there is one text for any
// bytes. `invalid` names the position (from 1).
Result<std::string> base64_decode(std::string_view text);

}  // namespace millrace
