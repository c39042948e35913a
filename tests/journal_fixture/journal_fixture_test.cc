// A journal directory of each format that was ever released is kept as text, and must open.
//
//   format-1.hex    its files: a line with name and size, then their bytes; zeros at the end left
//   out format-1.txt    what the store in it shows
//
// `journal_fixture_test --write` makes both for the current format. Only for a new format: the
// bytes of a released one must not change.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "disk/real_disk.h"
#include "store/embedded/journal/format.h"
#include "store/embedded/journal/journal.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {
namespace {

constexpr std::string_view folder = "tests/journal_fixture";
constexpr std::size_t bytes_per_line = 48;
constexpr TimePoint later_on = t0 + 1h;

std::string base(std::uint32_t format) {
  return fmt::format("{}/format-{}", folder, format);
}

std::unique_ptr<Store> open_at(const std::string& path) {
  return must(open_journal(must(open_directory(path, DirectoryMode::existing)),
                           {.segment_size = 64U << 10U, .cache_size = 100, .hash_seed = 1}));
}

// A store with something of everything, in more than one segment and with torn bytes at its end.
void make_store(const std::string& path) {
  auto store = open_at(path);
  StoreDriver driver(*store);
  driver.make_queue(queue("plain"));
  driver.make_queue(queue("rich", {.number = QueueNumber{7},
                                   .description = "with a rate",
                                   .max_concurrent = 100,
                                   .put_rate = Rate{1000, 1min},
                                   .retry = RetryRules{},
                                   .types = {{.type = "a", .timeout = 5s}}}));
  driver.one_in_each_state("plain");
  NewTask rich{.type = "send-email",
               .payload = "{\"to\":\"someone@example.com\"}",
               .content_type = "application/json",
               .start_by = t0 + 24h,
               .timeout = 30s,
               .max_lost = 9,
               .retry = RetryRules{},
               .unique = UniqueKey{"key", UniqueScope::window, 48h},
               .callback = Callback{.url = "http://example.com/hook"},
               .keep_for = 1h,
               .client_id = "client",
               .request_id = "request",
               .group = "group",
               .metadata = "{\"a\":1}",
               .tags = {"x", "y"},
               .parent = fresh_id()};
  driver.put(task("rich", rich));
  const Lease lease = driver.take_one("rich");
  driver.extend(lease);
  must(store->work({}, std::vector<Extension>{{lease.id, lease.token, {}, 50.0, {"a line"}}}, {},
                   driver.now));
  driver.settle(with(retry_at(lease, t0 + 10min), {task("plain", {.payload = "follow-up"})}));
  const TaskId answered = driver.put(task("rich")).id;
  Settlement half = parked(driver.take_one("rich"), t0 + 24h);
  half.checkpoint = "half";
  driver.settle(half);
  driver.update({.id = answered, .release = true, .answer = "yes"});
  driver.put(task("rich", {.priority = 9}));
  driver.settle(parked(driver.take_one("rich"), t0 + 30min));
  must(store->put_schedule({.name = "nightly",
                            .rule = {.cron = "0 2 * * *", .zone = "Europe/Moscow"},
                            .task = {.queue = "plain", .payload = "tick"},
                            .next = t0 + 2h},
                           PutSchedule::replace, driver.now));
  must(store->remember({.key = "memo", .value = "value", .lifetime = 240h}, driver.now));
  must(store->flush());
  store.reset();
  store = open_at(path);
  driver.use(*store);
  driver.put(task("plain", {.payload = "from the second boot"}));
  must(store->flush());
}

// ---- Files as text ----------------------------------------------------------------------------

void pack(const std::string& from, const std::string& to) {
  std::ofstream out(to);
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    if (embedded::segment_number(entry.path().filename().string())) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const auto& path : paths) {
    std::stringstream read;
    read << std::ifstream(path, std::ios::binary).rdbuf();
    std::string bytes = read.str();
    out << path.filename().string() << ' ' << bytes.size() << '\n';
    bytes.resize(bytes.find_last_not_of('\0') + 1);
    for (std::size_t at = 0; at < bytes.size(); at += bytes_per_line) {
      out << "  ";
      for (const char byte : bytes.substr(at, bytes_per_line)) {
        out << fmt::format("{:02x}", static_cast<unsigned char>(byte));
      }
      out << '\n';
    }
  }
}

void unpack(const std::string& from, const std::string& to) {
  std::ifstream in(from);
  ASSERT_TRUE(in) << from;
  std::string name;
  std::string bytes;
  std::size_t size = 0;
  const auto finish = [&] {
    if (name.empty()) return;
    bytes.resize(size);
    std::ofstream(to + "/" + name, std::ios::binary) << bytes;
    bytes.clear();
  };
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("  ")) {
      finish();
      std::istringstream(line) >> name >> size;
      continue;
    }
    for (std::size_t at = 2; at + 1 < line.size(); at += 2) {
      bytes.push_back(static_cast<char>(std::stoi(line.substr(at, 2), nullptr, 16)));
    }
  }
  finish();
}

// ---- The tests --------------------------------------------------------------------------------

class JournalFixture : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(JournalFixture, of_every_format_opens_and_shows_what_was_in_it) {
  const TemporaryDirectory directory;
  const std::string& path = directory.path();
  unpack(base(GetParam()) + ".hex", path);
  std::stringstream expected;
  expected << std::ifstream(base(GetParam()) + ".txt").rdbuf();
  auto store = open_at(path);
  EXPECT_EQ(dump(*store, later_on), expected.str());
  StoreDriver driver(*store);
  driver.now = later_on;
  EXPECT_FALSE(driver.take("plain").empty());
  must(store->flush());
}

INSTANTIATE_TEST_SUITE_P(Formats, JournalFixture,
                         ::testing::Range(1U, embedded::journal_format + 1),
                         [](const auto& test) { return fmt::format("{}", test.param); });

void write_fixture() {
  const TemporaryDirectory directory;
  const std::string& path = directory.path();
  make_store(path);
  pack(path, base(embedded::journal_format) + ".hex");
  const auto store = open_at(path);
  std::ofstream(base(embedded::journal_format) + ".txt") << dump(*store, later_on);
}

}  // namespace
}  // namespace millrace::test

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--write") {
    millrace::test::write_fixture();
    return 0;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
