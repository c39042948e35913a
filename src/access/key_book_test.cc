#include "access/key_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <atomic>
#include <thread>

#include "store/store.h"
#include "tests/support/builders.h"
#include "tests/support/driver.h"
#include "tests/support/model_store.h"

namespace millrace::access {
namespace {

using namespace std::chrono_literals;
using test::must;
using test::t0;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class KeyBookTest : public ::testing::Test {
 protected:
  // Makes a key, keeps it in the store, and returns its text.
  std::string make(KeyRequest request) {
    if (request.name.empty()) request.name = "test";
    auto made = must(make_key(request, t0));
    must(store_.remember(to_memo(made.key), t0));
    return made.text;
  }
  std::string make(Scope scope) { return make({.scopes = Scopes(std::vector{scope})}); }

  std::vector<Error> load(KeyBook& book) {
    return book.replace(must(
        all_memos(memo_prefix, [&](const Recall& recall) { return store_.recall(recall, t0); })));
  }

  test::ModelStore store_;
  KeyBook book_{{.open_without_keys = true}};
};

Outcome ask(KeyBook& book, const std::string& key, Scope scope, TimePoint now = t0) {
  return book.check("Bearer " + key, scope, now).outcome;
}

TEST_F(KeyBookTest, without_keys_it_is_open_only_where_that_is_allowed) {
  load(book_);
  EXPECT_FALSE(book_.guarded());
  EXPECT_EQ(book_.check("", Scope::admin, t0).outcome, Outcome::allowed);
  EXPECT_EQ(book_.check("Bearer nonsense", Scope::admin, t0).key, nullptr);
  KeyBook closed{{.open_without_keys = false}};
  EXPECT_EQ(closed.check("", Scope::read, t0).outcome, Outcome::unauthorized);
}

TEST_F(KeyBookTest, once_there_is_a_key_it_is_needed) {
  const std::string key = make(Scope::put);
  EXPECT_TRUE(load(book_).empty());
  EXPECT_TRUE(book_.guarded());
  const Verdict without = book_.check("", Scope::put, t0);
  EXPECT_EQ(without.outcome, Outcome::unauthorized);
  EXPECT_THAT(without.detail, HasSubstr("Authorization: Bearer"));
  const Verdict with = book_.check("Bearer " + key, Scope::put, t0);
  EXPECT_EQ(with.outcome, Outcome::allowed);
  EXPECT_EQ(with.key->id, id_of(key));
  EXPECT_EQ(ask(book_, key, Scope::read), Outcome::forbidden);
  EXPECT_THAT(book_.check("Bearer " + key, Scope::read, t0).detail,
              AllOf(HasSubstr("scope read"), HasSubstr("\"test\" has put")));
}

TEST_F(KeyBookTest,
       headers_that_are_not_a_known_key_are_unauthorized_and_their_secret_is_not_shown) {
  const std::string key = make(Scope::admin);
  load(book_);
  std::string other = key;
  other.back() = other.back() == 'A' ? 'B' : 'A';
  std::string other_id = key;
  other_id[5] = other_id[5] == '0' ? '1' : '0';
  for (const std::string& header :
       {"Bearer " + other, "Bearer " + other_id, std::string("Bearer"), std::string("Bearer "),
        "Basic " + key, key, "Bearer" + key, "Bearer " + key + "x", "Bearer " + key.substr(1),
        std::string(1'000'000, 'x'), "Bearer " + std::string(1'000'000, 'x'),
        std::string("\0\0", 2)}) {
    const Verdict verdict = book_.check(header, Scope::read, t0);
    EXPECT_EQ(verdict.outcome, Outcome::unauthorized) << header.substr(0, 80);
    EXPECT_THAT(verdict.detail, Not(HasSubstr(key.substr(20, 20))));
    EXPECT_EQ(verdict.key, nullptr);
  }
  EXPECT_EQ(book_.check("bEARER   " + key + " ", Scope::read, t0).outcome, Outcome::allowed);
}

TEST_F(KeyBookTest, a_revoked_key_is_unknown_and_an_expired_one_says_so) {
  const std::string revoked = make(Scope::admin);
  const std::string ending = make({.scopes = Scopes(std::vector{Scope::put}), .expires = t0 + 1h});
  load(book_);
  EXPECT_EQ(ask(book_, ending, Scope::put, t0 + 1h - 1ms), Outcome::allowed);
  EXPECT_THAT(book_.check("Bearer " + ending, Scope::put, t0 + 1h).detail, HasSubstr("expired at"));
  must(store_.remember(forget_memo(id_of(revoked)), t0));
  load(book_);
  EXPECT_EQ(ask(book_, revoked, Scope::read), Outcome::unauthorized);
  EXPECT_EQ(book_.check("", Scope::put, t0 + 2h).outcome, Outcome::unauthorized)
      << "an expired key still guards";
}

TEST_F(KeyBookTest, a_rate_holds_over_reloading_and_says_when_to_come_back) {
  const std::string key =
      make({.scopes = Scopes(std::vector{Scope::put}), .rate = Rate{.max = 2, .per = 10s}});
  load(book_);
  EXPECT_EQ(ask(book_, key, Scope::put), Outcome::allowed);
  EXPECT_EQ(ask(book_, key, Scope::read), Outcome::forbidden) << "counts too";
  load(book_);
  const Verdict verdict = book_.check("Bearer " + key, Scope::put, t0);
  EXPECT_EQ(verdict.outcome, Outcome::limited);
  ASSERT_TRUE(verdict.retry_after);
  EXPECT_GT(*verdict.retry_after, 9s);
  EXPECT_EQ(ask(book_, key, Scope::put, t0 + *verdict.retry_after), Outcome::allowed);
}

TEST_F(KeyBookTest, the_admin_key_of_the_settings_needs_no_store) {
  const std::string text(40, 'k');
  KeyBook book{{.open_without_keys = true, .admin_key = text}};
  EXPECT_TRUE(book.guarded());
  EXPECT_TRUE(book.has_admin(t0));
  EXPECT_EQ(book.check("", Scope::read, t0).outcome, Outcome::unauthorized);
  EXPECT_EQ(ask(book, text, Scope::admin), Outcome::allowed);
  EXPECT_EQ(ask(book, std::string(40, 'j'), Scope::read), Outcome::unauthorized);
  EXPECT_EQ(ask(book, "", Scope::read), Outcome::unauthorized);
  const std::string key = make(Scope::put);
  load(book);
  EXPECT_EQ(ask(book, key, Scope::put), Outcome::allowed);
  EXPECT_EQ(ask(book, text, Scope::put), Outcome::allowed);
  EXPECT_EQ(book.list().size(), 1U) << "the setting is in no list";
}

TEST_F(KeyBookTest, the_key_of_its_own_workers_guards_nothing_and_is_in_no_list) {
  const MadeKey made =
      must(make_key({.name = "workers", .scopes = Scopes(std::vector{Scope::work})}, t0));
  KeyBook book{{.open_without_keys = true, .own = made.key}};
  EXPECT_FALSE(book.guarded());
  EXPECT_EQ(book.check("", Scope::read, t0).outcome, Outcome::allowed);
  const std::string key = make(Scope::put);
  load(book);
  EXPECT_TRUE(book.guarded());
  EXPECT_EQ(ask(book, made.text, Scope::work), Outcome::allowed);
  EXPECT_EQ(ask(book, made.text, Scope::admin), Outcome::forbidden);
  EXPECT_EQ(ask(book, made.text + "x", Scope::work), Outcome::unauthorized);
  EXPECT_EQ(book.list().size(), 1U);
}

TEST_F(KeyBookTest, unreadable_keys_neither_lock_callers_out_nor_open_the_server) {
  must(store_.remember({.key = "key/bad", .value = "{}"}, t0));
  const auto errors = load(book_);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0].message, HasSubstr("key/bad"));
  EXPECT_TRUE(book_.guarded());
  EXPECT_FALSE(book_.has_admin(t0));
  EXPECT_EQ(book_.check("", Scope::read, t0).outcome, Outcome::unauthorized);
  const std::string key = make(Scope::admin);
  load(book_);
  EXPECT_EQ(ask(book_, key, Scope::admin), Outcome::allowed);
}

TEST_F(KeyBookTest, an_expired_key_is_no_admin) {
  make({.scopes = Scopes(std::vector{Scope::admin}), .expires = t0 + 1s});
  make(Scope::put);
  load(book_);
  EXPECT_TRUE(book_.has_admin(t0));
  EXPECT_FALSE(book_.has_admin(t0 + 1s));
}

TEST_F(KeyBookTest, more_keys_than_a_page_are_all_read_both_ways) {
  for (int i = 0; i < 2003; ++i) {
    must(store_.remember({.key = "key/" + std::to_string(10000 + i), .value = "x"}, t0));
  }
  must(store_.remember({.key = "kez/1", .value = "x"}, t0));
  EXPECT_EQ(load(book_).size(), 2003U);
  std::size_t found = 0;
  all_memos(
      memo_prefix, [&](Recall recall, auto done) { done(store_.recall(recall, t0)); },
      [&](const Result<std::vector<Memo>>& memos) { found = memos.value().size(); });
  EXPECT_EQ(found, 2003U);
  std::optional<Error> error;
  all_memos(
      memo_prefix, [](const Recall&, auto done) { done(fail(ErrorCode::unavailable, "gone")); },
      [&](Result<std::vector<Memo>> memos) { error = memos.error(); });
  EXPECT_EQ(error->message, "gone");
}

TEST_F(KeyBookTest, a_reading_that_comes_late_does_not_bring_a_revoked_key_back) {
  make(Scope::admin);
  const std::string key = make(Scope::put);
  const auto early = book_.begin_reading();
  const auto memos = must(store_.recall({.prefix = "key/"}, t0));
  must(store_.remember(forget_memo(id_of(key)), t0));
  load(book_);
  book_.replace(memos, early);
  EXPECT_EQ(ask(book_, key, Scope::put), Outcome::unauthorized);
}

TEST_F(KeyBookTest, a_change_holds_although_the_keys_cannot_be_read) {
  const std::string admin = make(Scope::admin);
  const std::string key = make(Scope::put);
  load(book_);
  const auto early = book_.begin_reading();
  const auto memos = must(store_.recall({.prefix = "key/"}, t0));
  book_.forget(id_of(key));
  EXPECT_EQ(ask(book_, key, Scope::put), Outcome::unauthorized);
  book_.replace(memos, early);
  EXPECT_EQ(ask(book_, key, Scope::put), Outcome::unauthorized) << "read before it was revoked";
  KeyBook other({.open_without_keys = true});
  ASSERT_FALSE(other.guarded());
  for (const Key& each : book_.list()) other.add(each);
  EXPECT_TRUE(other.guarded());
  EXPECT_EQ(ask(other, admin, Scope::admin), Outcome::allowed);
}

TEST_F(KeyBookTest, many_threads_ask_while_keys_change) {
  const std::string key =
      make({.scopes = Scopes(std::vector{Scope::put}), .rate = Rate{1'000'000, 10s}});
  load(book_);
  std::atomic<bool> ended = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!ended) {
        if (ask(book_, key, Scope::put) != Outcome::allowed) ++wrong;
      }
    });
  }
  for (int i = 0; i < 200; ++i) load(book_);
  ended = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(KeyBookTest, it_knows_whose_loss_would_lock_all_callers_out) {
  const std::string admin = make(Scope::admin);
  load(book_);
  const std::string id(id_of(admin));
  KeyBook outside{{.open_without_keys = false}};
  load(outside);
  EXPECT_FALSE(book_.is_last_admin(id, t0)) << "then no caller needs a key";
  EXPECT_TRUE(outside.is_last_admin(id, t0));
  const std::string put = make(Scope::put);
  load(book_);
  EXPECT_TRUE(book_.is_last_admin(id, t0));
  EXPECT_FALSE(book_.is_last_admin(id_of(put), t0));
  EXPECT_FALSE(book_.is_last_admin("nonsense", t0));
  KeyBook with_setting{{.admin_key = std::string(32, 'k')}};
  load(with_setting);
  EXPECT_FALSE(with_setting.is_last_admin(id, t0));
  make(Scope::admin);
  load(book_);
  EXPECT_FALSE(book_.is_last_admin(id, t0));
}

// A long stream, or a request with several parts, counts as one request.
TEST_F(KeyBookTest, to_be_checked_again_costs_nothing_of_the_rate) {
  const std::string key =
      make({.scopes = Scopes(std::vector{Scope::read}), .expires = t0 + 1h, .rate = Rate{1, 10s}});
  load(book_);
  const std::string header = "Bearer " + key;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(book_.check_again(header, Scope::read, t0).outcome, Outcome::allowed);
  }
  EXPECT_EQ(ask(book_, key, Scope::read), Outcome::allowed);
  EXPECT_EQ(ask(book_, key, Scope::read), Outcome::limited);
  EXPECT_EQ(book_.check_again(header, Scope::read, t0).key->id, id_of(key));
  EXPECT_EQ(book_.check_again(header, Scope::admin, t0).outcome, Outcome::forbidden);
  EXPECT_EQ(book_.check_again(header, Scope::read, t0 + 2h).outcome, Outcome::unauthorized);
  EXPECT_EQ(book_.check_again("", Scope::read, t0).outcome, Outcome::unauthorized);
  book_.forget(id_of(key));
  book_.add(must(make_key({.name = "x", .scopes = Scopes(std::vector{Scope::admin})}, t0)).key);
  EXPECT_EQ(book_.check_again(header, Scope::read, t0).outcome, Outcome::unauthorized);
}

}  // namespace
}  // namespace millrace::access
