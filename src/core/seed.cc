#include "core/seed.h"

#include <random>

namespace millrace {

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace millrace
