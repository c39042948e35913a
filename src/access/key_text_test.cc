#include "access/key_text.h"

#include <gtest/gtest.h>

#include <array>

#include "core/time_text.h"

namespace millrace::access {
namespace {

KeyRequest wanted() {
  return {.name = "ci",
          .scopes = Scopes(std::array{Scope::put, Scope::read}),
          .queues = {"a.*"},
          .expires = parse_time("2027-01-01T00:00:00Z").value(),
          .rate = Rate{5, std::chrono::seconds(1)}};
}

TEST(KeyText, a_request_says_what_is_wanted_and_nothing_else) {
  EXPECT_EQ(text_of(KeyRequest{.name = "ci", .scopes = Scopes(std::array{Scope::put})}),
            R"({"name":"ci","scopes":["put"]})");
  const std::string text = text_of(wanted());
  EXPECT_EQ(text, R"({"name":"ci","scopes":["put","read"],"queues":["a.*"],)"
                  R"("expires":"2027-01-01T00:00:00.000Z","rate":{"max":5,"per_ms":1000}})");
  const auto read = read_key_request(text);
  ASSERT_TRUE(read) << read.error().error.message;
  EXPECT_EQ(text_of(*read), text);
}

TEST(KeyText, a_request_has_a_name_and_scopes_and_nothing_that_only_a_server_knows) {
  for (const char* each :
       {R"({"name":"ci"})", R"({"scopes":["put"]})", R"({"name":"a","scopes":[]})",
        R"({"name":"a","scopes":["fly"]})", R"({"name":"a","scopes":["put"],"id":"x"})"}) {
    EXPECT_FALSE(read_key_request(each)) << each;
  }
}

TEST(KeyText, answers_are_read_as_they_were_written) {
  const MadeKey made{.key = {.id = "0123456789abcdef",
                             .about = wanted(),
                             .created_at = parse_time("2026-01-01T00:00:00Z").value()},
                     .text = "mr_x"};
  const std::string text = text_of(made);
  const auto key = key_from(text);
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(text_of(*key), text);
  EXPECT_EQ(key->text, "mr_x");
  const std::string all = text_of(std::vector<Key>{made.key, made.key});
  const auto keys = keys_from(all);
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(text_of(*keys), all);
  EXPECT_EQ(all.find("secret"), all.npos);
}

TEST(KeyText, what_a_newer_server_adds_is_ignored) {
  const auto keys =
      keys_from(R"({"keys":[{"id":"b","name":"n","scopes":["put"],"newer":1}],"more":2})");
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->at(0).id, "b");
}

TEST(KeyText, what_is_no_answer_is_unavailable) {
  for (const char* each : {"", "{", "[]", "{}", R"({"keys":{}})", R"({"keys":[{"id":1}]})",
                           R"({"keys":[{"rate":{"max":-1}}]})"}) {
    const auto keys = keys_from(each);
    ASSERT_FALSE(keys) << each;
    EXPECT_EQ(keys.error().code, ErrorCode::unavailable);
  }
}

}  // namespace
}  // namespace millrace::access
