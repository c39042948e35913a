#include "access/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "access/key_book.h"
#include "tests/support/builders.h"

namespace millrace::access {
namespace {

using namespace std::chrono_literals;
using test::t0;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

MadeKey admin_key(std::optional<TimePoint> expires = std::nullopt) {
  Scopes scopes;
  scopes.add(Scope::admin);
  return make_key({.name = "ops", .scopes = scopes, .expires = expires}, t0).value();
}

MadeSession session_of(const Key& key, TimePoint at = t0) {
  return make_session(key, "/admin/", 12h, at).value();
}

TEST(Session, the_text_is_for_its_owner_and_only_its_hash_is_kept) {
  const MadeKey key = admin_key();
  const MadeSession made = session_of(key.key);
  EXPECT_THAT(made.text, MatchesRegex("ms_[0-9a-f]{16}_[A-Za-z0-9_-]{43}"));
  EXPECT_EQ(session_id_of(made.text), made.session.id);
  EXPECT_EQ(session_id_of(key.text), "");
  const Remember memo = to_memo(made.session);
  EXPECT_THAT(*memo.value, Not(HasSubstr(made.text.substr(20))));
  EXPECT_THAT(*memo.value, Not(HasSubstr(to_hex(key.key.hash)))) << "it would open a session";
  EXPECT_EQ(memo.lifetime, Duration(12h));
  const auto read = session_from_memo({.key = memo.key, .value = *memo.value});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->id, made.session.id);
  EXPECT_EQ(read->hash, made.session.hash);
  EXPECT_EQ(read->mark, made.session.mark);
  EXPECT_EQ(read->path, "/admin/");
  EXPECT_EQ(read->expires, t0 + 12h);
}

TEST(Session, memos_that_are_none_are_named) {
  for (const auto* value :
       {"", "[]", "{}", R"({"sha256":"00","key_mark":"00"})", "{\"sha256\":1}"}) {
    const auto read = session_from_memo({.key = "$session/x", .value = value});
    ASSERT_FALSE(read) << value;
    EXPECT_THAT(read.error().message, HasSubstr("$session/x"));
  }
  EXPECT_FALSE(session_from_memo({.key = "key/x", .value = "{}"}));
}

TEST(Session, ends_with_its_key_at_the_latest) {
  EXPECT_EQ(session_of(admin_key(t0 + 1h).key).session.expires, t0 + 1h);
}

TEST(SessionBook, finds_whom_a_cookie_belongs_to_until_it_ends) {
  SessionBook book;
  const MadeSession made = session_of(admin_key().key);
  EXPECT_EQ(book.find(made.text, t0), nullptr);
  book.add(made.session);
  ASSERT_NE(book.find(made.text, t0), nullptr);
  EXPECT_EQ(book.find(made.text, t0)->id, made.session.id);
  EXPECT_EQ(book.find(made.text, t0 + 12h), nullptr);
  std::string other = made.text;
  other.back() = other.back() == 'A' ? 'B' : 'A';
  EXPECT_EQ(book.find(other, t0), nullptr);
  EXPECT_EQ(book.find("", t0), nullptr);
  book.forget(made.session.id);
  EXPECT_EQ(book.find(made.text, t0), nullptr);
}

TEST(SessionBook, a_session_added_while_the_store_was_read_stays) {
  SessionBook book;
  const MadeSession old = session_of(admin_key().key);
  const MadeSession fresh = session_of(admin_key().key);
  const Remember memo = to_memo(old.session);
  const auto reading = book.begin_reading();
  book.add(fresh.session);
  EXPECT_THAT(book.replace({{.key = memo.key, .value = *memo.value}}, reading), IsEmpty());
  EXPECT_NE(book.find(fresh.text, t0), nullptr);
  const std::vector<Memo> memos = {{.key = memo.key, .value = *memo.value},
                                   {.key = "$session/bad", .value = "?"}};
  EXPECT_EQ(book.replace(memos, book.begin_reading()).size(), 1U);
  EXPECT_NE(book.find(old.text, t0), nullptr);
  EXPECT_EQ(book.find(fresh.text, t0), nullptr);
}

TEST(SessionBook, the_oldest_make_room) {
  SessionBook book({.all = 3, .per_key = 2});
  const Key one = admin_key().key;
  const Key two = admin_key().key;
  const auto first = session_of(one, t0);
  const auto second = session_of(one, t0 + 1s);
  book.add(first.session);
  EXPECT_THAT(book.surplus(one.id, t0), IsEmpty());
  book.add(second.session);
  EXPECT_THAT(book.surplus(one.id, t0 + 2s), ElementsAre(first.session.id));
  EXPECT_THAT(book.surplus(two.id, t0 + 2s), IsEmpty());
  book.add(session_of(two, t0 + 2s).session);
  EXPECT_THAT(book.surplus(two.id, t0 + 3s), ElementsAre(first.session.id)) << "of all";
  EXPECT_EQ(book.surplus(two.id, t0 + 13h).size(), 3U) << "they have ended";
}

TEST(KeyBookMarks, a_key_is_known_again_until_it_is_revoked_or_replaced) {
  KeyBook book({.admin_key = std::string(40, 'a')});
  const MadeKey made = admin_key(t0 + 1h);
  book.add(made.key);
  const Hash mark = mark_of(made.key.hash);
  EXPECT_NE(book.key_of(made.text, t0), nullptr);
  EXPECT_EQ(book.key_of(made.text, t0 + 1h), nullptr) << "expired";
  EXPECT_EQ(book.key_of(made.text + "x", t0), nullptr);
  EXPECT_NE(book.key_marked(made.key.id, mark, t0), nullptr);
  EXPECT_EQ(book.key_marked(made.key.id, mark, t0 + 1h), nullptr);
  EXPECT_EQ(book.key_marked(made.key.id, made.key.hash, t0), nullptr) << "the hash is no mark";
  EXPECT_EQ(book.check_marked(made.key.id, mark, Scope::admin, t0).outcome, Outcome::allowed);
  EXPECT_EQ(book.check_marked_again(made.key.id, mark, Scope::admin, t0).outcome, Outcome::allowed);
  book.forget(made.key.id);
  EXPECT_EQ(book.key_marked(made.key.id, mark, t0), nullptr);
  EXPECT_EQ(book.check_marked(made.key.id, mark, Scope::read, t0).outcome, Outcome::unauthorized);
  const auto setting = book.key_of(std::string(40, 'a'), t0);
  ASSERT_NE(setting, nullptr);
  EXPECT_NE(book.key_marked(setting->id, mark_of(setting->hash), t0), nullptr);
  const KeyBook other({.admin_key = std::string(40, 'b')});
  EXPECT_EQ(other.key_marked(setting->id, mark_of(setting->hash), t0), nullptr);
}

}  // namespace
}  // namespace millrace::access
