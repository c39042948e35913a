// Random numbers from a seed: the same with every compiler and standard library.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace millrace::test {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  // 0 to n - 1.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  std::uint32_t between(std::uint32_t least, std::uint32_t most) {
    return least + below(most - least + 1);
  }
  bool percent(std::uint32_t chance) { return below(100) < chance; }
  // [0, 1)
  double share() { return below(1'000'000) / 1e6; }
  Duration between(Duration least, Duration most) {
    const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + Duration(static_cast<std::int64_t>(engine_() % span));
  }

  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[below(static_cast<std::uint32_t>(values.size()))];
  }
  // One of "prefix0", "prefix1", …
  std::string word(const std::string& prefix, std::uint32_t n) {
    return prefix + std::to_string(below(n));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace millrace::test
