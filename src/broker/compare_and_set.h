// Settings that several servers may change: read, decided on, and written only if they are still
// what was read.
#pragma once

#include <fmt/format.h>
#include <millrace/result.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

// For callers that may create the value.
template <class T>
Result<std::vector<T>> none_if_unknown(Result<std::vector<T>> found) {
  if (!found && found.error().code == ErrorCode::not_found) return std::vector<T>();
  return found;
}

// Calls `write` with what `read` found, and both again if the store refuses with `conflict` because
// another server has written in between. A `conflict` although nothing has changed has another
// reason, and is returned. `what` is for the message, as in "queue q".
//
// Read: () -> Result<std::vector<T>>, the store's answer for one name.
// Write: (const T*) -> Result<T>; nullptr: there is none.
template <class T, class Read, class Write>
Result<T> compare_and_set(std::string_view what, const Read& read, const Write& write) {
  constexpr int most_tries = 10;  // two servers that do nothing else rarely need more than three
  std::vector<T> seen;
  std::optional<Error> refusal;
  for (int tries = 0; tries < most_tries; ++tries) {
    Result<std::vector<T>> found = read();
    if (!found) return std::unexpected(std::move(found.error()));
    if (refusal && *found == seen) return std::unexpected(std::move(*refusal));
    seen = std::move(*found);
    Result<T> written = write(seen.empty() ? nullptr : &seen.front());
    if (written || written.error().code != ErrorCode::conflict) return written;
    refusal = std::move(written.error());
  }
  return fail(
      ErrorCode::conflict,
      fmt::format("other servers keep changing {}: nothing of this was stored, try again", what));
}

}  // namespace millrace
