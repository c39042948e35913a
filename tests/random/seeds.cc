#include "tests/random/seeds.h"

#include <gtest/gtest.h>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

namespace millrace::test {
namespace {

std::optional<std::uint64_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  return std::stoull(text);
}

}  // namespace

Seeds seeds_to_run(std::uint64_t usual_seeds) {
  const auto named = number_from("MILLRACE_SEED");
  return {.first = named.value_or(1),
          .count = number_from("MILLRACE_SEEDS").value_or(named ? 1 : usual_seeds)};
}

void expect_agreement(const Duel& duel, std::uint64_t usual_seeds) {
  const auto [first, count] = seeds_to_run(usual_seeds);
  for (auto seed = first; seed < first + count; ++seed) {
    const auto account = try_seed(duel, seed, sequence_length);
    ASSERT_FALSE(account) << account->text << "replay with --seed=" << seed;
  }
}

}  // namespace millrace::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string flag = "--seed=";
    if (!argument.starts_with(flag)) {
      std::cerr << "unknown argument " << argument << "; there is only --seed=NUMBER\n";
      return 2;
    }
    setenv("MILLRACE_SEED", argument.substr(flag.size()).c_str(), 1);
  }
  return RUN_ALL_TESTS();
}
