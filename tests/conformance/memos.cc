// Small values under compare-and-set: remember and recall.
#include <gmock/gmock.h>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Memory {
 public:
  explicit Memory(Store& store) : store_(store) {}

  Result<Memo> write(std::string key, std::string value, TimePoint now = t0) {
    return store_.remember({.key = std::move(key), .value = std::move(value)}, now);
  }

  std::vector<std::string> keys(const Recall& request = {}, TimePoint now = t0) {
    std::vector<std::string> found;
    for (const Memo& memo : must(store_.recall(request, now))) found.push_back(memo.key);
    return found;
  }

 private:
  Store& store_;
};

TEST_P(StoreConformance, what_is_remembered_is_recalled) {
  const std::string bytes("\0\xff{}", 4);
  const Memo written = must(Memory(store()).write("worker/1", bytes));
  EXPECT_EQ(written.key, "worker/1");
  EXPECT_EQ(written.value, bytes);
  EXPECT_NE(written.version, 0U);
  EXPECT_EQ(written.expires, std::nullopt);
  EXPECT_THAT(must(store().recall({}, now)), ElementsAre(written));
}

TEST_P(StoreConformance, the_version_of_a_memo_grows_with_every_write) {
  Memory memory(store());
  const auto first = must(memory.write("k", "a")).version;
  const auto second = must(memory.write("k", "b")).version;
  const auto third = must(memory.write("k", "b")).version;
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

TEST_P(StoreConformance, the_version_grows_even_if_the_memo_was_forgotten_in_between) {
  Memory memory(store());
  const auto before = must(memory.write("k", "a")).version;
  must(store().remember({.key = "k"}, now));
  EXPECT_GT(must(memory.write("k", "a")).version, before);
}

TEST_P(StoreConformance, a_write_may_expect_a_version) {
  const Memo first = must(Memory(store()).write("k", "a"));
  expect_unchanged([&] {
    EXPECT_THAT(store().remember({.key = "k", .value = "b", .expected = first.version + 1}, now),
                FailsWith(ErrorCode::conflict));
    EXPECT_THAT(store().remember({.key = "k", .value = "b", .expected = 0}, now),
                FailsWith(ErrorCode::conflict));
    EXPECT_THAT(store().remember({.key = "new", .value = "b", .expected = first.version}, now),
                FailsWith(ErrorCode::conflict));
  });
  EXPECT_EQ(
      must(store().remember({.key = "k", .value = "b", .expected = first.version}, now)).value,
      "b");
}

TEST_P(StoreConformance, expecting_version_zero_creates_only) {
  EXPECT_THAT(store().remember({.key = "k", .value = "a", .expected = 0}, now), IsOk());
  EXPECT_THAT(store().remember({.key = "k", .value = "b", .expected = 0}, now),
              FailsWith(ErrorCode::conflict));
}

TEST_P(StoreConformance, a_memo_may_be_forgotten) {
  Memory memory(store());
  must(memory.write("k", "a"));
  EXPECT_EQ(must(store().remember({.key = "k"}, now)).version, 0U);
  EXPECT_THAT(memory.keys(), IsEmpty());
  EXPECT_THAT(store().remember({.key = "k", .value = "b", .expected = 0}, now), IsOk());
}

TEST_P(StoreConformance, forgetting_what_is_not_there_is_no_error) {
  EXPECT_EQ(must(store().remember({.key = "k"}, now)).version, 0U);
  EXPECT_EQ(must(store().remember({.key = "k", .expected = 0}, now)).version, 0U);
}

TEST_P(StoreConformance, forgetting_may_expect_a_version) {
  const Memo memo = must(Memory(store()).write("k", "a"));
  expect_unchanged([&] {
    EXPECT_THAT(store().remember({.key = "k", .expected = memo.version + 1}, now),
                FailsWith(ErrorCode::conflict));
  });
  EXPECT_EQ(must(store().remember({.key = "k", .expected = memo.version}, now)).version, 0U);
}

// ---- Lifetimes ---------------------------------------------------------------------------------

TEST_P(StoreConformance, a_memo_with_a_lifetime_is_gone_when_it_ends) {
  Memory memory(store());
  const Memo memo = must(store().remember({.key = "k", .value = "a", .lifetime = 10s}, now));
  EXPECT_EQ(memo.expires, now + 10s);
  EXPECT_THAT(memory.keys({}, now + 10s - 1ms), ElementsAre("k"));
  EXPECT_THAT(memory.keys({}, now + 10s), IsEmpty());
}

TEST_P(StoreConformance, an_expired_memo_counts_as_not_there) {
  const Memo memo = must(store().remember({.key = "k", .value = "a", .lifetime = 10s}, now));
  pass(10s);
  EXPECT_THAT(store().remember({.key = "k", .value = "b", .expected = memo.version}, now),
              FailsWith(ErrorCode::conflict));
  EXPECT_THAT(store().remember({.key = "k", .value = "b", .expected = 0}, now), IsOk());
}

TEST_P(StoreConformance, advance_ends_memos_whose_lifetime_is_over) {
  must(store().remember({.key = "short", .value = "a", .lifetime = 10s}, now));
  must(store().remember({.key = "long", .value = "a"}, now));
  pass(10s - 1ms);
  advance();
  EXPECT_THAT(Memory(store()).keys({}, t0), ElementsAre("long", "short"));
  pass(1ms);
  advance();
  EXPECT_THAT(Memory(store()).keys({}, t0), ElementsAre("long"));
}

TEST_P(StoreConformance, the_last_write_decides_the_lifetime) {
  Memory memory(store());
  must(store().remember({.key = "k", .value = "a", .lifetime = 10s}, now));
  must(store().remember({.key = "k", .value = "a", .lifetime = 20s}, now));
  pass(10s);
  advance();
  EXPECT_THAT(memory.keys({}, now), ElementsAre("k"));
  must(memory.write("k", "a", now));
  pass(24h * 3650);
  advance();
  EXPECT_THAT(memory.keys({}, now), ElementsAre("k"));
}

// ---- Recall ------------------------------------------------------------------------------------

TEST_P(StoreConformance, memos_are_recalled_by_prefix_in_the_order_of_their_keys) {
  Memory memory(store());
  for (const char* key : {"b/2", "a", "b/1", "b/10", "b", "c", "b0"}) must(memory.write(key, "v"));
  EXPECT_THAT(memory.keys(), ElementsAre("a", "b", "b/1", "b/10", "b/2", "b0", "c"));
  EXPECT_THAT(memory.keys({.prefix = "b/"}), ElementsAre("b/1", "b/10", "b/2"));
  EXPECT_THAT(memory.keys({.prefix = "nothing"}), IsEmpty());
}

TEST_P(StoreConformance, memos_are_recalled_page_by_page) {
  Memory memory(store());
  for (const char* key : {"b/1", "b/2", "b/3", "c/1"}) must(memory.write(key, "v"));
  EXPECT_THAT(memory.keys({.prefix = "b/", .limit = 2}), ElementsAre("b/1", "b/2"));
  EXPECT_THAT(memory.keys({.prefix = "b/", .after = "b/2"}), ElementsAre("b/3"));
  EXPECT_THAT(memory.keys({.prefix = "b/", .after = "b/3"}), IsEmpty());
  EXPECT_THAT(memory.keys({.prefix = "b/", .after = "a"}), ElementsAre("b/1", "b/2", "b/3"));
  EXPECT_THAT(memory.keys({.prefix = "b/1", .after = "b/1"}), IsEmpty());
  EXPECT_THAT(memory.keys({.after = "b/2"}), ElementsAre("b/3", "c/1"));
}

TEST_P(StoreConformance, expired_memos_do_not_fill_a_page) {
  Memory memory(store());
  for (const char* key : {"a", "b", "c"}) {
    must(store().remember({.key = key, .value = "v", .lifetime = 1s}, now));
  }
  must(memory.write("d", "v"));
  EXPECT_THAT(memory.keys({.limit = 1}, now + 1s), ElementsAre("d"));
}

}  // namespace
}  // namespace millrace::test
