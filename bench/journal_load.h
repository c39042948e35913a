// A journal under the load that stores are measured under, for several benchmarks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "bench/bare_log.h"
#include "bench/load.h"
#include "bench/measure.h"
#include "bench/require.h"
#include "disk/real_disk.h"
#include "store/embedded/journal/journal_store.h"
#include "tests/support/temporary_directory.h"

namespace millrace::bench {

using test::TemporaryDirectory;

inline constexpr std::size_t segment_size = BareLog::segment_size;

inline std::unique_ptr<Disk> disk_of(const TemporaryDirectory& directory) {
  return std::move(open_directory(directory.path(), DirectoryMode::existing).value());
}

inline std::unique_ptr<embedded::JournalStore> open_store(const TemporaryDirectory& directory) {
  static std::uint64_t seed = 0;
  auto store = std::make_unique<embedded::JournalStore>(
      disk_of(directory), JournalOptions{.segment_size = segment_size, .hash_seed = ++seed});
  const auto opened = store->open();
  require(opened.has_value(), opened ? "" : opened.error().message);
  return store;
}

// Flushes on a thread of its own, one flush at a time. Waits a little before it sleeps: waking up
// takes as long as a fast disk takes to sync.
class Flusher {
  static constexpr int most_spins = 2000;
  static void pause() { __builtin_ia32_pause(); }

 public:
  explicit Flusher(Store& store) : store_(store) {}
  Flusher(const Flusher&) = delete;
  Flusher& operator=(const Flusher&) = delete;
  ~Flusher() {
    wait();
    stopping_ = true;
    asked_.fetch_add(1);
    asked_.notify_one();
    thread_.join();
  }

  // Waits for the last flush, then begins another.
  void begin() {
    wait();
    asked_.fetch_add(1);
    asked_.notify_one();
  }

  void wait() {
    for (int spins = 0; done_.load() != asked_.load() && spins < most_spins; ++spins) pause();
    for (auto done = done_.load(); done != asked_.load(); done = done_.load()) done_.wait(done);
  }

 private:
  void run() {
    for (std::uint64_t done = 0;; ++done) {
      for (int spins = 0; asked_.load() == done && spins < most_spins; ++spins) pause();
      asked_.wait(done);
      if (stopping_) return;
      require(store_.flush().has_value(), "flush");
      done_.store(done + 1);
      done_.notify_one();
    }
  }

  Store& store_;
  std::atomic<std::uint64_t> asked_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_{[this] { run(); }};
};

class JournalLoad {
 public:
  explicit JournalLoad(std::size_t batch) : load_(*store_, batch) { load_.put(); }

  void fill(std::size_t waiting) {
    for (std::size_t filled = 0; filled < waiting; filled += load_.batch()) {
      load_.put();
      if (filled % 10'000 == 0) load_.flush();
    }
    load_.flush();
  }

  // Tasks per second over so many lives. As in the Coalescer, the next call is applied while the
  // last one is on its way to the disk, and no caller acts on an answer before it is there.
  double run(std::size_t batches) {
    const double before = wall_seconds();
    for (std::size_t i = 0; i < batches; ++i) {
      load_.put();
      flusher_.begin();
      load_.work();
      flusher_.begin();
    }
    flusher_.wait();
    return static_cast<double>(batches * load_.batch()) / (wall_seconds() - before);
  }

  // The same, one after the other.
  void live() {
    load_.put();
    load_.flush();
    load_.work();
    load_.flush();
  }

  const TemporaryDirectory& directory() const { return directory_; }
  Load& load() { return load_; }
  embedded::JournalStore& store() { return *store_; }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<embedded::JournalStore> store_ = open_store(directory_);
  Load load_;
  Flusher flusher_{*store_};
};

}  // namespace millrace::bench
