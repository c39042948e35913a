// The first byte of every value that the program encodes for the tables says how to read the rest.
// Several versions of the program may work on the same tables, so the value may be of a newer
// format than this program knows.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "postgres/failure.h"
#include "store/embedded/bytes.h"

namespace millrace::store_postgres {

// Values are written in the first format that has a place for what they hold, so that servers of
// several versions can share a database.
inline constexpr std::uint8_t first_format = 1;
inline constexpr std::uint8_t newest_format = 2;

// Stored data that cannot be read, and never will be by trying again: `corrupt`.
postgres::Failure unreadable(std::string message);
bool is_unreadable(const postgres::Failure& failure);

// Reads a value with `read(in)`, which gets the bytes after the first. `name()` names it in
// messages, as in "the notes of task 0190...".
template <class Name, class Read>
postgres::Answer<void> read_value(std::string_view bytes, const Name& name, const Read& read) {
  embedded::ByteReader in(bytes);
  std::uint8_t format = 0;
  embedded::read(in, format);
  if (format > newest_format) {
    return std::unexpected(
        unreadable(fmt::format("{} have format {}, and this program reads formats up to {}: a "
                               "newer version of Millrace has written them; upgrade this server",
                               name(), format, newest_format)));
  }
  read(in);
  if (format != 0 && in.good()) return {};
  return std::unexpected(unreadable(fmt::format("{} are damaged", name())));
}

}  // namespace millrace::store_postgres
