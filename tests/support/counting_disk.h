// A disk that counts what is read from it, and at which a test may make reads fail or do something
// else meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "disk/disk.h"

namespace millrace::test {

// What a test sees of the disk once a store owns it.
struct DiskCounts {
  std::atomic<std::uint64_t> reads = 0;
  std::atomic<std::uint64_t> bytes = 0;  // that were read
  std::atomic<std::uint64_t> opens = 0;

  void reset() { reads = bytes = opens = 0; }

  // Set these while no other thread uses the disk.
  std::function<std::optional<Error>()> on_open = nullptr;
  std::function<std::optional<Error>()> on_read = nullptr;
};

class CountingDisk final : public Disk {
 public:
  // The counts must outlive this.
  CountingDisk(std::unique_ptr<Disk> inner, DiskCounts& counts)
      : inner_(std::move(inner)), counts_(counts) {}

  std::string path() const override { return inner_->path(); }
  Result<void> lock(bool shared) override { return inner_->lock(shared); }
  Result<std::vector<Entry>> list() override { return inner_->list(); }

  Result<File> open(std::string_view name, Access access) override {
    if (access == Access::read) {
      ++counts_.opens;
      if (auto error = called(counts_.on_open)) return std::unexpected(std::move(*error));
    }
    return inner_->open(name, access);
  }
  void close(File file) override { inner_->close(file); }
  Result<void> allocate(File file, std::uint64_t size) override {
    return inner_->allocate(file, size);
  }
  Result<void> write(File file, std::uint64_t offset, std::string_view bytes) override {
    return inner_->write(file, offset, bytes);
  }
  Result<std::size_t> read(File file, std::uint64_t offset, std::span<char> into) override {
    ++counts_.reads;
    if (auto error = called(counts_.on_read)) return std::unexpected(std::move(*error));
    auto got = inner_->read(file, offset, into);
    if (got) counts_.bytes += *got;
    return got;
  }
  Result<void> sync(File file) override { return inner_->sync(file); }
  void begin_sync(File file) override { inner_->begin_sync(file); }
  Result<void> sync_directory() override { return inner_->sync_directory(); }
  Result<void> rename(std::string_view from, std::string_view to) override {
    return inner_->rename(from, to);
  }
  Result<void> remove(std::string_view name) override { return inner_->remove(name); }

 private:
  // What it does may read, too.
  static std::optional<Error> called(const std::function<std::optional<Error>()>& hook) {
    return hook ? hook() : std::nullopt;
  }

  std::unique_ptr<Disk> inner_;
  DiskCounts& counts_;
};

}  // namespace millrace::test
