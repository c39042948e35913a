#include "postgres/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/ascii.h"
#include "core/quote.h"

namespace millrace::postgres {
namespace {

bool is_of_name(char c) {
  return ascii::is_letter_or_digit(c) || c == '_' || c == '$' || c == '.' || c == '"' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

Result<void> check_schema(std::string_view schema) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || ascii::is_digit(c) || c == '_';
  };
  const bool fits = !schema.empty() && schema.size() <= 63 &&
                    std::ranges::all_of(schema, allowed) && !ascii::is_digit(schema[0]);
  if (!fits) {
    return fail(ErrorCode::invalid,
                fmt::format("{} cannot be the name of a schema: it has 1 to 63 of a to z, 0 to 9 "
                            "and _, and no digit first",
                            in_quotes(schema)));
  }
  if (schema.starts_with("pg_")) {
    return fail(ErrorCode::invalid,
                fmt::format("{} cannot be the name of a schema: those that begin with pg_ are "
                            "PostgreSQL's own",
                            in_quotes(schema)));
  }
  return {};
}

std::string with_schema(std::string_view text, std::string_view schema) {
  const std::string quoted = fmt::format("\"{}\"", schema);
  std::string written;
  written.reserve(text.size() + 64);
  std::size_t done = 0;
  for (std::size_t at = text.find(written_schema); at != text.npos;
       at = text.find(written_schema, at + 1)) {
    const char before = at > 0 ? text[at - 1] : ' ';
    const std::size_t end = at + written_schema.size();
    const char after = end < text.size() ? text[end] : ' ';
    const bool in_quotes = before == '"' && after == '"';
    if (!in_quotes && (after != '.' || is_of_name(before))) continue;
    const std::size_t quote = in_quotes ? 1 : 0;
    written.append(text.substr(done, at - quote - done)).append(quoted);
    done = end + quote;
  }
  return written.append(text.substr(done));
}

}  // namespace millrace::postgres
