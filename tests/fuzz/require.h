// A broken promise must stop the fuzzer with the input at hand, in every build.
#pragma once

#include <cstdlib>

namespace millrace {

inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace millrace
