// The conformance suite for `journal:`, on a real directory.
#include <cstdlib>
#include <filesystem>

#include "disk/real_disk.h"
#include "store/embedded/journal/journal.h"
#include "store/forwarding.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

// Small segments and hardly a cache, so that the suite walks through every part of it.
std::unique_ptr<Store> open_at(const std::string& path) {
  static std::uint64_t seed = 0;
  auto store = open_journal(open_directory(path, DirectoryMode::make).value(),
                            {.segment_size = 4U << 20U, .cache_size = 1000, .hash_seed = ++seed});
  EXPECT_TRUE(store) << store.error().message;
  return std::move(*store);
}

// Removes its directory with itself.
class TemporaryJournal final : public ForwardingStore {
 public:
  TemporaryJournal(std::string path, std::unique_ptr<Store> store)
      : ForwardingStore(*store), path_(std::move(path)), store_(std::move(store)) {}
  ~TemporaryJournal() override {
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
  std::string path = (std::filesystem::temp_directory_path() / "journal-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) return nullptr;
  return std::make_unique<TemporaryJournal>(path, open_at(path));
}

std::unique_ptr<Store> reopen(std::unique_ptr<Store> store) {
  const std::string path = dynamic_cast<TemporaryJournal&>(*store).leave();
  return std::make_unique<TemporaryJournal>(path, open_at(path));
}

INSTANTIATE_TEST_SUITE_P(journal, StoreConformance,
                         ::testing::Values(StoreFactory{
                             .name = "journal", .make = make, .reopen = reopen}),
                         store_name);

}  // namespace
}  // namespace millrace::test
