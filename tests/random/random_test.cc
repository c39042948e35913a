// Random sequences on two stores that have to agree.
//
// MILLRACE_SEEDS=10000 runs that many; MILLRACE_SEED=42, or --seed=42, runs that one alone; both
// together run that many from that one on.
#include <gtest/gtest.h>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "store/embedded/memory.h"
#include "tests/random/broken.h"
#include "tests/random/describe.h"
#include "tests/random/duel.h"
#include "tests/random/generator.h"
#include "tests/support/model_store.h"
#include "tests/support/replayed_store.h"

namespace millrace::test {

namespace {

constexpr std::size_t sequence_length = 300;
constexpr std::uint64_t usual_seeds = 300;

std::optional<std::uint64_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  return std::stoull(text);
}

std::unique_ptr<Store> open_model() {
  return std::make_unique<ModelStore>();
}

std::unique_ptr<Store> open_replayed() {
  return std::make_unique<ReplayedStore>();
}

struct Contender {
  std::string name;
  Duel duel;
};

void PrintTo(const Contender& contender, std::ostream* os) {
  *os << contender.name;
}

class RandomSequence : public ::testing::TestWithParam<Contender> {};

TEST_P(RandomSequence, AgreesWithTheReference) {
  const auto named = number_from("MILLRACE_SEED");
  const auto first = named.value_or(1);
  const auto count = number_from("MILLRACE_SEEDS").value_or(named ? 1 : usual_seeds);
  for (auto seed = first; seed < first + count; ++seed) {
    const auto account = try_seed(GetParam().duel, seed, sequence_length);
    ASSERT_FALSE(account) << account->text << "replay with --seed=" << seed;
  }
}

// Another store = one more line; its reference is the in-memory store.
INSTANTIATE_TEST_SUITE_P(Stores, RandomSequence,
                         ::testing::Values(Contender{"memory", {open_model, open_memory}},
                                           Contender{"records", {open_model, open_replayed}}),
                         [](const auto& test) { return test.param.name; });

// ---- The sequences find defects, and shrink to what shows them --------------------------------

class RandomDefect : public ::testing::TestWithParam<Defect> {};

TEST_P(RandomDefect, IsFoundAndShrunk) {
  const Duel duel{open_model, GetParam().make};
  constexpr std::uint64_t most_seeds = 20;
  constexpr std::size_t most_steps = 10;
  for (std::uint64_t seed = 1; seed <= most_seeds; ++seed) {
    const auto account = try_seed(duel, seed, sequence_length);
    if (!account) continue;
    EXPECT_LE(account->steps, most_steps) << account->text;
    return;
  }
  FAIL() << "no sequence of " << most_seeds << " found it";
}

INSTANTIATE_TEST_SUITE_P(Defects, RandomDefect, ::testing::ValuesIn(defects()),
                         [](const auto& test) { return test.param.name; });

TEST(RandomSequences, AreTheSameForTheSameSeed) {
  EXPECT_EQ(describe(generate(7, sequence_length)), describe(generate(7, sequence_length)));
  EXPECT_NE(describe(generate(7, sequence_length)), describe(generate(8, sequence_length)));
}

TEST(RandomSequences, FindNothingBetweenAStoreAndItself) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto account = try_seed({open_model, open_model}, seed, sequence_length);
    EXPECT_FALSE(account) << account->text;
  }
}

}  // namespace

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
