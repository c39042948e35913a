// The conformance suite for `memory:?snapshot=FILE`, on a real directory.
#include <cstdlib>
#include <filesystem>

#include "disk/real_disk.h"
#include "store/embedded/snapshot/snapshot.h"
#include "store/forwarding.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

std::unique_ptr<Store> open_at(const std::string& path) {
  auto store =
      open_memory_with_snapshot(open_directory(path, DirectoryMode::make).value(), "snapshot", {});
  EXPECT_TRUE(store) << store.error().message;
  return std::move(*store);
}

// Removes its directory with itself.
class TemporarySnapshot final : public ForwardingStore {
 public:
  TemporarySnapshot(std::string path, std::unique_ptr<Store> store)
      : ForwardingStore(*store), path_(std::move(path)), store_(std::move(store)) {}
  ~TemporarySnapshot() override {
    store_.reset();
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }
  // Closes it but leaves the directory.
  std::string leave() {
    store_.reset();
    return std::exchange(path_, {});
  }

 private:
  std::string path_;
  std::unique_ptr<Store> store_;
};

std::unique_ptr<Store> make() {
  std::string path = (std::filesystem::temp_directory_path() / "snapshot-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) return nullptr;
  return std::make_unique<TemporarySnapshot>(path, open_at(path));
}

std::unique_ptr<Store> reopen(std::unique_ptr<Store> store) {
  const std::string path = dynamic_cast<TemporarySnapshot&>(*store).leave();
  return std::make_unique<TemporarySnapshot>(path, open_at(path));
}

INSTANTIATE_TEST_SUITE_P(snapshot, StoreConformance,
                         ::testing::Values(StoreFactory{
                             .name = "snapshot", .make = make, .reopen = reopen}),
                         store_name);

}  // namespace
}  // namespace millrace::test
