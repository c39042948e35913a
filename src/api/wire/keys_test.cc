#include "api/wire/keys.h"

#include <gtest/gtest.h>

#include "core/time_text.h"

namespace millrace::wire {
namespace {

TEST(Keys, a_request_says_what_is_wanted_and_nothing_else) {
  EXPECT_EQ(key_text({.id = "x", .name = "ci", .scopes = {"put", "read"}, .secret = "y"}),
            R"({"name":"ci","scopes":["put","read"]})");
  EXPECT_EQ(key_text({.name = "ci",
                      .scopes = {"put"},
                      .queues = {"a.*"},
                      .expires = parse_time("2027-01-01T00:00:00Z").value(),
                      .rate = Rate{5, std::chrono::seconds(1)}}),
            R"({"name":"ci","scopes":["put"],"queues":["a.*"],)"
            R"("expires":"2027-01-01T00:00:00.000Z","rate":{"max":5,"per_ms":1000}})");
}

TEST(Keys, answers_are_read_and_shown_as_they_came) {
  const std::string text =
      R"({"id":"0123456789abcdef","name":"ci","scopes":["put"],"queues":["a"],)"
      R"("created_at":"2026-01-01T00:00:00.000Z","expires":"2027-01-01T00:00:00.000Z",)"
      R"("rate":{"max":5,"per_ms":1000},"secret":"mr_x"})";
  const auto key = key_from(text);
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(view_of(*key), text);
  const auto keys = keys_from(R"({"keys":[)" + text + R"(,{"id":"b","newer":1}],"more":2})");
  ASSERT_TRUE(keys) << keys.error().message;
  ASSERT_EQ(keys->size(), 2U);
  EXPECT_EQ((*keys)[1].id, "b");
}

TEST(Keys, what_is_no_answer_is_unavailable) {
  for (const char* each : {"", "{", "[]", "{}", R"({"keys":{}})", R"({"keys":[{"id":1}]})",
                           R"({"keys":[{"rate":{"max":-1}}]})"}) {
    const auto keys = keys_from(each);
    ASSERT_FALSE(keys) << each;
    EXPECT_EQ(keys.error().code, ErrorCode::unavailable);
  }
}

}  // namespace
}  // namespace millrace::wire
