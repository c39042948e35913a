// A store in a directory of its own, which is removed with it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "store/forwarding.h"
#include "tests/conformance/conformance.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {

class TemporaryStore final : public ForwardingStore {
 public:
  TemporaryStore(std::unique_ptr<TemporaryDirectory> directory, std::unique_ptr<Store> store)
      : ForwardingStore(*store), directory_(std::move(directory)), store_(std::move(store)) {}

  // Closes the store and leaves the directory.
  std::unique_ptr<TemporaryDirectory> close() {
    store_.reset();
    return std::move(directory_);
  }

 private:
  std::unique_ptr<TemporaryDirectory> directory_;
  std::unique_ptr<Store> store_;
};

// `open(path)` opens the store in a directory, or begins one.
inline StoreFactory temporary_stores(std::string name,
                                     std::unique_ptr<Store> (*open)(const std::string& path)) {
  const auto open_in = [open](std::unique_ptr<TemporaryDirectory> directory) {
    auto store = open(directory->path());
    return std::make_unique<TemporaryStore>(std::move(directory), std::move(store));
  };
  return {.name = std::move(name),
          .make = [=] { return open_in(std::make_unique<TemporaryDirectory>()); },
          .reopen =
              [=](std::unique_ptr<Store> store) {
                return open_in(dynamic_cast<TemporaryStore&>(*store).close());
              }};
}

}  // namespace millrace::test
