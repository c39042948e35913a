#include "api/server/stored_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <future>

#include "broker/local_broker.h"
#include "tests/support/builders.h"
#include "tests/support/model_store.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;
using test::t0;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StoredKeysTest : public ::testing::Test {
 protected:
  template <class T, class Call>
  Result<T> wait(Call call) {
    std::promise<Result<T>> promise;
    call([&](Result<T> result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }
  Result<access::MadeKey> create(const access::KeyRequest& request) {
    return wait<access::MadeKey>(
        [&](auto done) { keys_.create(broker_, "me", request, std::move(done)); });
  }
  Result<std::vector<access::Key>> list() {
    return wait<std::vector<access::Key>>([&](auto done) { keys_.list(broker_, std::move(done)); });
  }
  Result<void> revoke(const std::string& id, bool force = false) {
    return wait<void>([&](auto done) { keys_.revoke(broker_, "me", id, force, std::move(done)); });
  }
  static access::Scopes scopes(std::vector<Scope> all) { return access::Scopes(all); }
  Access ask(const std::string& key, Scope scope) {
    return keys_.check({.authorization = key.empty() ? "" : "Bearer " + key}, scope);
  }
  unsigned status(const std::string& key, Scope scope) {
    const Access access = ask(key, scope);
    return access ? 200 : access.error().status;
  }

  ManualClock clock_{t0};
  test::ModelStore store_;
  LocalBroker broker_{clock_, store_};
  std::vector<std::string> logged_;
  const Log log_{.write = [this](const LogEntry& entry) { logged_.push_back(entry.message); }};
  access::KeyBook book_{{.open_without_keys = true}};
  StoredKeys keys_{book_, clock_, log_};
};

TEST_F(StoredKeysTest, what_is_made_and_revoked_holds_when_the_answer_comes) {
  EXPECT_EQ(status("", Scope::admin), 200U);
  const auto admin = create({.name = "ops", .scopes = scopes({Scope::admin})});
  ASSERT_TRUE(admin) << admin.error().message;
  EXPECT_EQ(status("", Scope::read), 401U);
  EXPECT_EQ(status(admin->text, Scope::admin), 200U);
  const auto reader = create(
      {.name = "r", .scopes = scopes({Scope::read}), .queues = {"a.*"}, .rate = Rate{2, 1h}});
  ASSERT_TRUE(reader);
  EXPECT_EQ(status(reader->text, Scope::put), 403U);
  const Access access = ask(reader->text, Scope::read);
  ASSERT_TRUE(access);
  EXPECT_EQ(access->id(), reader->key.id);
  EXPECT_TRUE(access->may_touch("a.b"));
  EXPECT_FALSE(access->may_touch("b"));
  const Access limited = ask(reader->text, Scope::read);
  EXPECT_EQ(limited.error().status, 429U);
  EXPECT_TRUE(limited.error().retry_after);
  const HttpRequest head{.authorization = "Bearer " + reader->text};
  EXPECT_TRUE(keys_.check_again(head, Scope::read)) << "was let in before";
  EXPECT_EQ(keys_.check_again(head, Scope::put).error().status, 403U);
  ASSERT_TRUE(revoke(reader->key.id));
  EXPECT_EQ(status(reader->text, Scope::read), 401U);
  EXPECT_EQ(keys_.check_again(head, Scope::read).error().status, 401U);
  EXPECT_EQ(revoke(reader->key.id).error().code, ErrorCode::not_found);
  EXPECT_EQ(list()->size(), 1U);
  EXPECT_THAT(logged_, ElementsAre("API key made", "API key made", "API key revoked"));
}

TEST_F(StoredKeysTest, the_first_one_must_be_able_to_make_others) {
  const auto refused =
      create({.name = "p", .scopes = scopes({Scope::put, Scope::work, Scope::read})});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("scope admin first"));
  EXPECT_THAT(*list(), IsEmpty());
  ASSERT_TRUE(create({.name = "ops", .scopes = scopes({Scope::admin}), .expires = t0 + 1h}));
  ASSERT_TRUE(create({.name = "p", .scopes = scopes({Scope::put})}));
  clock_.advance(2h);
  EXPECT_FALSE(create({.name = "q", .scopes = scopes({Scope::put})}))
      << "the admin key has expired";
}

TEST_F(StoredKeysTest, the_last_one_that_can_make_others_stays_unless_it_must_go) {
  const auto first = create({.name = "ops", .scopes = scopes({Scope::admin})});
  const auto second =
      create({.name = "more", .scopes = scopes({Scope::admin}), .expires = t0 + 1h});
  ASSERT_TRUE(create({.name = "p", .scopes = scopes({Scope::put})}));
  clock_.advance(2h);
  const auto refused = revoke(first->key.id);
  ASSERT_FALSE(refused) << "the other one has expired";
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("the last one with the scope admin"));
  EXPECT_EQ(status(first->text, Scope::admin), 200U);
  EXPECT_TRUE(revoke(second->key.id));
  ASSERT_TRUE(revoke(first->key.id, true));
  EXPECT_EQ(status(first->text, Scope::admin), 401U);
}

TEST_F(StoredKeysTest, the_last_one_of_all_may_go) {
  const auto only = create({.name = "ops", .scopes = scopes({Scope::admin})});
  ASSERT_TRUE(revoke(only->key.id));
  EXPECT_EQ(status("", Scope::admin), 200U) << "open, as before";
}

TEST_F(StoredKeysTest, what_makes_no_sense_is_refused) {
  ASSERT_TRUE(create({.name = "ops", .scopes = scopes({Scope::admin})}));
  for (const access::KeyRequest& bad : std::vector<access::KeyRequest>{
           {.name = "", .scopes = scopes({Scope::put})},
           {.name = "x"},
           {.name = "x", .scopes = scopes({Scope::put}), .queues = {"a b"}},
           {.name = "x", .scopes = scopes({Scope::put}), .expires = t0},
           {.name = "x", .scopes = scopes({Scope::put}), .rate = Rate{0, 1s}},
           {.name = "x", .scopes = scopes({Scope::admin}), .queues = {"a"}}}) {
    EXPECT_EQ(create(bad).error().code, ErrorCode::invalid);
  }
  EXPECT_EQ(revoke("").error().code, ErrorCode::not_found);
  EXPECT_EQ(revoke("nonsense").error().code, ErrorCode::not_found);
}

TEST_F(StoredKeysTest, a_stopped_broker_makes_no_keys_and_revokes_none) {
  const auto admin = create({.name = "ops", .scopes = scopes({Scope::admin})});
  broker_.stop();
  EXPECT_EQ(create({.name = "x", .scopes = scopes({Scope::put})}).error().code,
            ErrorCode::unavailable);
  EXPECT_EQ(list().error().code, ErrorCode::unavailable);
  EXPECT_EQ(revoke(admin->key.id).error().code, ErrorCode::unavailable);
  EXPECT_EQ(status(admin->text, Scope::admin), 200U);
}

}  // namespace
}  // namespace millrace::api
