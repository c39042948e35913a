// Settings that several servers may change: read, decided, and written only if they are still what
// was read.
#pragma once

#include <fmt/format.h>
#include <millrace/result.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

// For those who may create it.
template <class T>
Result<std::vector<T>> none_if_unknown(Result<std::vector<T>> found) {
  if (!found && found.error().code == ErrorCode::not_found) return std::vector<T>();
  return found;
}

// Calls `write` with what `read` found, and both again if the store refuses with `conflict` because
// another server has written in between. A `conflict` over what has not changed has another reason
// and is the answer. `what`: for the message, as in "queue q".
//
// Read: () -> Result<std::vector<T>>, as the store answers for one.
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
