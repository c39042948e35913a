// The conformance suite for `journal:`, on a real directory.
#include "disk/real_disk.h"
#include "store/embedded/journal/journal.h"
#include "store/store.h"
#include "tests/conformance/temporary_store.h"

namespace millrace::test {
namespace {

// Small segments and a tiny cache, so that the suite reaches every part of the journal.
std::unique_ptr<Store> open_at(const std::string& path) {
  static std::uint64_t seed = 0;
  auto store = open_journal(open_directory(path, DirectoryMode::make).value(),
                            {.segment_size = 4U << 20U, .cache_size = 1000, .hash_seed = ++seed});
  EXPECT_TRUE(store) << store.error().message;
  return std::move(*store);
}

INSTANTIATE_TEST_SUITE_P(journal, StoreConformance,
                         ::testing::Values(temporary_stores("journal", open_at)), store_name);

}  // namespace
}  // namespace millrace::test
