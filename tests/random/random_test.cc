// Random sequences on two stores that have to agree.
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "disk/real_disk.h"
#include "store/embedded/journal/journal.h"
#include "store/embedded/memory.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/random/broken.h"
#include "tests/random/describe.h"
#include "tests/random/duel.h"
#include "tests/random/generator.h"
#include "tests/random/seeds.h"
#include "tests/support/model_store.h"
#include "tests/support/replayed_store.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {

namespace {

std::unique_ptr<Store> open_model() {
  return std::make_unique<ModelStore>();
}

std::unique_ptr<Store> open_replayed() {
  return std::make_unique<ReplayedStore>();
}

// A journal in a directory of its own. Few bytes stay in memory and segments are small, so that it
// reads and cleans them.
class OnDisk final : public ForwardingStore {
 public:
  static std::unique_ptr<Store> make() {
    return std::make_unique<OnDisk>(std::make_unique<TemporaryDirectory>());
  }
  static std::unique_ptr<Store> reopen(std::unique_ptr<Store> store) {
    auto& open = dynamic_cast<OnDisk&>(*store);
    if (const auto flushed = open.flush(); !flushed) {
      ADD_FAILURE() << flushed.error().message;
    }
    auto directory = std::move(open.directory_);
    store.reset();
    return std::make_unique<OnDisk>(std::move(directory));
  }

  explicit OnDisk(std::unique_ptr<TemporaryDirectory> directory)
      : OnDisk(opened(directory->path()), std::move(directory)) {}

 private:
  OnDisk(std::unique_ptr<Store> journal, std::unique_ptr<TemporaryDirectory>&& directory)
      : ForwardingStore(*journal), directory_(std::move(directory)), journal_(std::move(journal)) {}

  static std::unique_ptr<Store> opened(const std::string& path) {
    static std::uint64_t seed = 0;
    return open_journal(open_directory(path, DirectoryMode::make).value(),
                        {.sync = SyncMode::none,
                         .segment_size = 64U << 10U,
                         .cache_size = 1000,
                         .hash_seed = ++seed})
        .value();
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  std::unique_ptr<Store> journal_;
};

struct Contender {
  std::string name;
  Duel duel;
  std::uint64_t seeds = 300;
};

void PrintTo(const Contender& contender, std::ostream* os) {
  *os << contender.name;
}

class RandomSequence : public ::testing::TestWithParam<Contender> {};

TEST_P(RandomSequence, AgreesWithTheReference) {
  expect_agreement(GetParam().duel, GetParam().seeds);
}

// Another store is one more line; its reference is the in-memory store.
INSTANTIATE_TEST_SUITE_P(
    Stores, RandomSequence,
    ::testing::Values(Contender{"memory", {open_model, open_memory}},
                      Contender{"records", {open_model, open_replayed}},
                      Contender{"journal", {open_memory, OnDisk::make, OnDisk::reopen}, 30}),
    [](const auto& test) { return test.param.name; });

// ---- The sequences find defects, and shrink to what shows them --------------------------------

class RandomDefect : public ::testing::TestWithParam<Defect> {};

TEST_P(RandomDefect, IsFoundAndShrunk) {
  const Duel duel{open_model, GetParam().make};
  constexpr std::uint64_t most_seeds = 60;
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
