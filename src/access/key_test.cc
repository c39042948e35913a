#include "access/key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "tests/support/builders.h"

namespace millrace::access {
namespace {

using namespace std::chrono_literals;
using test::t0;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

Scopes scopes(std::initializer_list<Scope> list) {
  return Scopes(std::vector<Scope>(list));
}

KeyRequest good() {
  return {.name = "mail service",
          .scopes = scopes({Scope::put, Scope::read}),
          .queues = {"emails", "shop.*", "*"},
          .expires = t0 + 1h,
          .rate = Rate{100, 1s}};
}

TEST(Scopes, admin_includes_all_and_the_others_only_themselves) {
  for (const Scope asked : {Scope::put, Scope::work, Scope::read, Scope::admin}) {
    EXPECT_TRUE(scopes({Scope::admin}).allow(asked));
    EXPECT_FALSE(Scopes().allow(asked));
    for (const Scope had : {Scope::put, Scope::work, Scope::read}) {
      EXPECT_EQ(scopes({had}).allow(asked), had == asked);
    }
  }
  EXPECT_THAT(scopes({Scope::read, Scope::put}).list(), ElementsAre(Scope::put, Scope::read));
  EXPECT_EQ(to_text(scopes({Scope::admin, Scope::work})), "work, admin");
  EXPECT_EQ(scope_from_name("work"), Scope::work);
  for (const char* bad : {"", "Put", "put ", "all", "put,read"}) {
    EXPECT_THAT(scope_from_name(bad).error().message, HasSubstr("put, work, read and admin"));
  }
}

TEST(Key, has_an_id_and_a_secret_of_256_random_bits) {
  std::set<std::string> ids;
  std::set<std::string> texts;
  for (int i = 0; i < 200; ++i) {
    const auto made = make_key(good(), t0);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_THAT(made->text, MatchesRegex("mr_[0-9a-f]+_[A-Za-z0-9_-]+"));
    EXPECT_EQ(made->text.size(), 63U);
    EXPECT_EQ(id_of(made->text), made->key.id);
    EXPECT_TRUE(same(made->key.hash, hash_of(made->text)));
    ids.insert(made->key.id);
    texts.insert(made->text.substr(20));
  }
  EXPECT_EQ(ids.size(), 200U);
  EXPECT_EQ(texts.size(), 200U);
}

TEST(Key, the_hash_is_sha_256_and_every_bit_counts) {
  const Hash hash = hash_of("abc");
  EXPECT_EQ(hash[0], 0xba);
  EXPECT_EQ(hash[31], 0xad);
  for (std::size_t byte = 0; byte < hash.size(); ++byte) {
    Hash other = hash;
    other[byte] ^= 1U;
    EXPECT_FALSE(same(hash, other));
  }
}

TEST(Key, text_that_is_no_key_has_no_id) {
  const std::string text = make_key(good(), t0)->text;
  for (const std::string& bad :
       {std::string(), std::string("mr_"), text + "x", text.substr(1), "Mr" + text.substr(2),
        text.substr(0, 19) + "." + text.substr(20), "mr_0123456789ABCDEF" + text.substr(19),
        std::string(63, 'm'), std::string(1'000'000, 'm')}) {
    EXPECT_EQ(id_of(bad), "") << bad.substr(0, 80);
  }
}

TEST(Key, a_request_for_a_key_must_make_sense) {
  using Change = void (*)(KeyRequest&);
  const std::vector<std::pair<Change, const char*>> bad = {
      {[](KeyRequest& r) { r.name = ""; }, "no name"},
      {[](KeyRequest& r) { r.name = std::string(101, 'x'); }, "101 bytes"},
      {[](KeyRequest& r) { r.name = "a\nb"; }, "name"},
      {[](KeyRequest& r) { r.name = "\xff"; }, "name"},
      {[](KeyRequest& r) { r.scopes = {}; }, "no scopes"},
      {[](KeyRequest& r) { r.queues = {""}; }, "not a pattern"},
      {[](KeyRequest& r) { r.queues = {"a b"}; }, "not a pattern"},
      {[](KeyRequest& r) { r.queues = {"$internal"}; }, "not a pattern"},
      {[](KeyRequest& r) { r.queues = {"emails?"}; }, "not a pattern"},
      {[](KeyRequest& r) { r.queues = {std::string(101, 'a')}; }, "not a pattern"},
      {[](KeyRequest& r) { r.queues.assign(33, "a"); }, "33 queue patterns"},
      {[](KeyRequest& r) { r.scopes.add(Scope::admin); }, "cannot be confined"},
      {[](KeyRequest& r) { r.expires = t0; }, "would have expired"},
      {[](KeyRequest& r) { r.rate = Rate{0, 1s}; }, "rate max"},
      {[](KeyRequest& r) { r.rate = Rate{1, 0s}; }, "rate per"},
      {[](KeyRequest& r) { r.rate = Rate{1, 25h}; }, "rate per"},
  };
  for (const auto& [change, message] : bad) {
    KeyRequest request = good();
    change(request);
    const auto made = make_key(request, t0);
    ASSERT_FALSE(made) << message;
    EXPECT_THAT(made.error().message, HasSubstr(message));
  }
  EXPECT_TRUE(make_key(good(), t0));
}

TEST(KeyMemo, everything_but_the_secret_is_kept) {
  const auto made = make_key(good(), t0);
  const Remember memo = to_memo(made->key);
  EXPECT_EQ(memo.key, "key/" + made->key.id);
  EXPECT_EQ(memo.expected, 0U) << "never over another one";
  EXPECT_EQ(memo.lifetime, std::nullopt) << "an expired key still guards the server";
  EXPECT_THAT(*memo.value, Not(HasSubstr(made->text.substr(20))));
  const auto key = from_memo({.key = memo.key, .value = *memo.value});
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->id, made->key.id);
  EXPECT_EQ(key->about.name, "mail service");
  EXPECT_EQ(key->about.scopes, good().scopes);
  EXPECT_EQ(key->about.queues, good().queues);
  EXPECT_EQ(key->about.expires, good().expires);
  EXPECT_EQ(key->about.rate, good().rate);
  EXPECT_EQ(key->created_at, t0);
  EXPECT_TRUE(same(key->hash, made->key.hash));
  const auto plain = make_key({.name = "x", .scopes = scopes({Scope::admin})}, t0);
  const auto again = from_memo({.key = "key/a", .value = *to_memo(plain->key).value});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->about.expires, std::nullopt);
  EXPECT_EQ(again->about.rate, std::nullopt);
  EXPECT_EQ(forget_memo("abc").key, "key/abc");
  EXPECT_EQ(forget_memo("abc").value, std::nullopt);
}

TEST(KeyMemo, anything_else_is_corrupt_and_named) {
  const std::string hash(64, 'a');
  const std::string good =
      R"({"name":"n","scopes":["put"],"created_at":"2026-01-01T00:00:00Z","sha256":")" + hash +
      "\"}";
  ASSERT_TRUE(from_memo({.key = "key/a", .value = good}));
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& value : {std::string(),
                                   std::string("[]"),
                                   std::string("{}"),
                                   std::string("{"),
                                   std::string("null"),
                                   with("\"n\"", "1"),
                                   with("\"n\"", "\"\""),
                                   with("[\"put\"]", "[]"),
                                   with("[\"put\"]", "\"put\""),
                                   with("\"put\"", "\"root\""),
                                   with("\"put\"", "1"),
                                   with("2026-01-01T00:00:00Z", "yesterday"),
                                   with(hash, "abc"),
                                   with(hash, std::string(64, 'g')),
                                   with(hash, std::string(64, 'A')),
                                   with("\"name\"", "\"queues\":\"x\",\"name\""),
                                   with("\"name\"", "\"queues\":[\"a b\"],\"name\""),
                                   with("\"name\"", "\"rate\":5,\"name\""),
                                   with("\"name\"", "\"rate\":\"0/1s\",\"name\""),
                                   with("\"name\"", "\"expires\":null,\"name\"")}) {
    const auto key = from_memo({.key = "key/abc", .value = value});
    ASSERT_FALSE(key) << value;
    EXPECT_EQ(key.error().code, ErrorCode::corrupt);
    EXPECT_THAT(key.error().message, HasSubstr("\"key/abc\""));
  }
  EXPECT_FALSE(from_memo({.key = "other", .value = good}));
  EXPECT_FALSE(from_memo({.key = "key/", .value = good}));
}

TEST(KeyRate, is_a_number_and_a_duration) {
  EXPECT_EQ(parse_rate("100/1s"), (Rate{100, 1s}));
  EXPECT_EQ(to_text(Rate{5, 1h}), "5/1h");
  for (const char* bad : {"", "100", "/1s", "100/", "-1/1s", "1.5/1s", "x/1s", "100/1", "1 /1s",
                          "99999999999/1s", "100/1s/2"}) {
    EXPECT_THAT(parse_rate(bad).error().message, HasSubstr("100/1s")) << bad;
  }
}

}  // namespace
}  // namespace millrace::access
