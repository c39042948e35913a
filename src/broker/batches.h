// A store takes so many items per call. These cut longer lists into calls, and join the answers.
#pragma once

#include <millrace/work.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

namespace millrace {

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
}

// Takes up to `room` from the front of `rest`.
template <class T>
std::span<const T> cut(std::span<const T>& rest, std::size_t& room) {
  const auto part = rest.first(std::min(room, rest.size()));
  rest = rest.subspan(part.size());
  room -= part.size();
  return part;
}

// Calls run(settlements, extensions, takes) with at most `size` of them in all, until none are left
// or it returns false. Returns what the last call returned.
template <class Run>
bool each_batch_of_work(std::span<const Settlement> settlements,
                        std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                        std::size_t size, const Run& run) {
  while (!settlements.empty() || !extensions.empty() || !takes.empty()) {
    std::size_t room = std::max<std::size_t>(size, 1);
    const auto settle = cut(settlements, room);
    const auto extend = cut(extensions, room);
    const auto take = cut(takes, room);
    if (!run(settle, extend, take)) return false;
  }
  return true;
}

}  // namespace millrace
