#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace millrace::bench {

inline void require(bool good, std::string_view what) {
  if (good) return;
  std::fprintf(stderr, "this must not fail: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace millrace::bench
