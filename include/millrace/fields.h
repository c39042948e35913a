// Typed payloads: one macro tells what a struct consists of, and it can be put and handled.
//
//   struct Email { std::string to, subject; std::optional<int> tries; };
//   MILLRACE_FIELDS(Email, to, subject, tries)
#pragma once

#include <millrace/result.h>
#include <millrace/value.h>
#include <string>
#include <string_view>

namespace millrace {

// As JSON.
template <class T>
std::string encode(const T& value);

// `invalid` names the path of what is missing, unknown or of the wrong type.
template <class T>
Result<T> decode(std::string_view payload, std::string_view content_type = {});

}  // namespace millrace
