#include "payload/delivery_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Every field. Adding one to the struct breaks this line until it is listed here, too.
std::array<std::string*, 7> all_fields(DeliveryPayload& payload) {
  auto& [url, queue, type, state, client_id, request_id, body] = payload;
  return {&url, &queue, &type, &state, &client_id, &request_id, &body};
}

DeliveryPayload read(std::string_view text) {
  auto payload = parse_delivery(text);
  EXPECT_TRUE(payload) << text << ": " << payload.error().message;
  return payload.value_or(DeliveryPayload());
}

TEST(DeliveryPayload, what_is_written_is_read) {
  const DeliveryPayload payload{.url = "https://example.org/\"hook\"?a=1",
                                .queue = "q",
                                .type = "t\n",
                                .state = "completed",
                                .client_id = "c\\",
                                .request_id = "\xc3\xa9",
                                .body = R"({"n":1.0,"body":{},"about":{"queue":"x"}})"};
  EXPECT_EQ(read(to_json(payload)), payload);
}

TEST(DeliveryPayload, each_field_that_is_written_is_read) {
  constexpr std::size_t count = 7;
  for (std::size_t i = 0; i < count; ++i) {
    DeliveryPayload payload{.body = "{}"};
    *all_fields(payload)[i] = R"("only")";  // as a body, too, it is JSON
    const std::string text = to_json(payload);
    EXPECT_THAT(text, HasSubstr("only"));
    EXPECT_EQ(read(text), payload) << text;
  }
}

// Tasks that an earlier version stored are delivered by this one.
TEST(DeliveryPayload, the_json_is_that_of_earlier_versions) {
  const DeliveryPayload webhook{.url = "https://example.org/hook",
                                .queue = "q",
                                .type = "t",
                                .state = "completed",
                                .client_id = "c",
                                .request_id = "r",
                                .body = R"({"status":"completed"})"};
  const std::string stored =
      R"({"url":"https://example.org/hook","about":{"queue":"q","type":"t","state":"completed",)"
      R"("clientId":"c","requestId":"r"},"body":{"status":"completed"}})";
  EXPECT_EQ(to_json(webhook), stored);
  EXPECT_EQ(read(stored), webhook);
  const DeliveryPayload alert{.body = R"({"level":"error"})"};
  EXPECT_EQ(to_json(alert), R"({"body":{"level":"error"}})");
  EXPECT_EQ(read(R"({"body":{"level":"error"}})"), alert);
}

TEST(DeliveryPayload, what_a_newer_version_adds_is_skipped) {
  EXPECT_EQ(read(R"({"more":[1],"about":{"more":{},"queue":"q","type":7},"body":{"n":1.0}})"),
            (DeliveryPayload{.queue = "q", .body = R"({"n":1.0})"}));
}

TEST(DeliveryPayload, the_body_keeps_its_bytes) {
  for (const std::string body : {R"({"n":1.00,"m":1e2})", R"({ "a" : "\u0041" })", "null"}) {
    EXPECT_EQ(read(to_json({.url = "http://x", .body = body})).body, body);
  }
}

TEST(DeliveryPayload, what_is_no_delivery_is_invalid) {
  for (const auto* text : {"", "1", "{}", "{", "[]", R"({"url":"http://x"})",
                           R"({"about":1,"body":{}})", R"({"body":{}}x)"}) {
    const auto payload = parse_delivery(text);
    ASSERT_FALSE(payload) << text;
    EXPECT_EQ(payload.error().code, ErrorCode::invalid) << text;
  }
}

}  // namespace
}  // namespace millrace
