// The conformance suite for `memory:?snapshot=FILE`, on a real directory.
#include "disk/real_disk.h"
#include "store/embedded/snapshot/snapshot.h"
#include "store/store.h"
#include "tests/conformance/temporary_store.h"

namespace millrace::test {
namespace {

std::unique_ptr<Store> open_at(const std::string& path) {
  auto store =
      open_memory_with_snapshot(open_directory(path, DirectoryMode::make).value(), "snapshot", {});
  EXPECT_TRUE(store) << store.error().message;
  return std::move(*store);
}

INSTANTIATE_TEST_SUITE_P(snapshot, StoreConformance,
                         ::testing::Values(temporary_stores("snapshot", open_at)), store_name);

}  // namespace
}  // namespace millrace::test
