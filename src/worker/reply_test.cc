#include "worker/reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "tests/support/builders.h"

namespace millrace::worker {
namespace {

using namespace millrace::test;
using outgoing::HttpReply;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Outcome judged(Result<HttpReply> reply) {
  return judge(reply, "the receiver", t0);
}
Outcome answered(int status, outgoing::Headers headers = {}, std::string body = {}) {
  return judged(
      HttpReply{.status = status, .headers = std::move(headers), .body = std::move(body)});
}

TEST(Reply, success_is_done_with_the_body) {
  for (const int status : {200, 201, 202, 204, 299}) {
    const Outcome outcome = answered(status, {}, "{}");
    ASSERT_TRUE(std::holds_alternative<Done>(outcome)) << status;
    EXPECT_EQ(std::get<Done>(outcome).result, "{}");
  }
}

TEST(Reply, what_may_pass_is_tried_again) {
  for (const int status : {408, 425, 429, 500, 502, 503, 504, 599}) {
    const auto failed = std::get<Failed>(answered(status));
    EXPECT_EQ(failed.retryable, true) << status;
    EXPECT_EQ(failed.error.code, "http_" + std::to_string(status));
  }
}

TEST(Reply, what_will_not_pass_is_final) {
  for (const int status : {100, 199, 301, 302, 307, 308, 400, 401, 403, 404, 409, 410, 413, 422}) {
    const auto failed = std::get<Failed>(answered(status, {{"retry-after", "5"}}));
    EXPECT_EQ(failed.retryable, false) << status;
  }
  EXPECT_THAT(std::get<Failed>(answered(302, {{"location", "http://10.0.0.1/?s=x"}})).error.message,
              AllOf(HasSubstr("redirects are not followed"), Not(HasSubstr("10.0.0.1"))));
}

TEST(Reply, no_answer_is_tried_again_and_what_cannot_be_sent_is_not) {
  const auto failed = [](ErrorCode code) { return std::get<Failed>(judged(fail(code, "why"))); };
  EXPECT_EQ(failed(ErrorCode::unavailable).retryable, true);
  EXPECT_EQ(failed(ErrorCode::unavailable).error.code, "connection_error");
  EXPECT_EQ(failed(ErrorCode::invalid).retryable, false);
  EXPECT_EQ(failed(ErrorCode::invalid).error.code, "request_setup_error");
  EXPECT_EQ(failed(ErrorCode::too_large).retryable, false);
}

TEST(Reply, a_message_shows_the_beginning_of_the_body) {
  const auto message = [](std::string body) {
    return std::get<Failed>(answered(500, {}, std::move(body))).error.message;
  };
  EXPECT_EQ(message(""), "the receiver answered 500");
  EXPECT_EQ(message("no\r\ndisk"), "the receiver answered 500: no  disk");
  EXPECT_THAT(message(std::string(5000, 'x')), SizeIs(testing::Lt(300U)));
  EXPECT_EQ(message("\xff\xfe"), "the receiver answered 500 with a body that is not text");
  EXPECT_EQ(std::get<Failed>(answered(500, {}, std::string(100, '\xff'))).error.details, "");
}

TEST(Reply, retry_after_in_seconds_or_as_a_date) {
  EXPECT_EQ(retry_after("0", t0), t0);
  EXPECT_EQ(retry_after(" 120 ", t0), t0 + 120s);
  EXPECT_EQ(retry_after("Tue, 01 Jan 2030 00:02:03 GMT", t0), t0 + 2min + 3s);
  EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", t0), t0);  // past
  EXPECT_EQ(retry_after("86401", t0), t0 + 24h);
  EXPECT_EQ(retry_after("99999999999999999999999", t0), t0 + 24h);
  EXPECT_EQ(retry_after("Sun, 01 Jan 2040 00:00:00 GMT", t0), t0 + 24h);
  const auto later = std::get<RetryAt>(answered(503, {{"retry-after", "7"}}));
  EXPECT_EQ(later.at, t0 + 7s);
  EXPECT_EQ(later.error.code, "http_503");
}

TEST(Reply, a_retry_after_that_says_nothing_is_not_heeded) {
  for (const auto* text : {"", " ", "-1", "+5", "1.5", "soon", "5s",
                           "Tue, 32 Jan 2030 00:00:00 GMT", "Tue, 01 Foo 2030 00:00:00 GMT",
                           "Tue, 01 Jan 2030 25:00:00 GMT", "Tue, 01 Jan 2030 00:00:00 CET",
                           "Tue, -1 Jan 2030 00:00:00 GMT", "Tuesday, 01-Jan-30 00:00:00 GMT"}) {
    EXPECT_EQ(retry_after(text, t0), std::nullopt) << text;
  }
  EXPECT_TRUE(std::holds_alternative<Failed>(answered(503, {{"retry-after", "soon"}})));
}

TEST(Reply, headers_hold_printable_characters_only) {
  EXPECT_TRUE(fits_header("a b~"));
  for (const auto* text : {"a\r\nX: y", "a\tb", "\x7f", "\xc3\xa4"})
    EXPECT_FALSE(fits_header(text));
}

TEST(Reply, what_does_not_fit_into_a_header_is_encoded) {
  EXPECT_EQ(header_text("a b%~"), "a b%~");
  EXPECT_EQ(header_text("ann\u00e4 1"), "UTF-8''ann%C3%A4%201");
  EXPECT_EQ(header_text("a\r\nb: \x7F"), "UTF-8''a%0D%0Ab%3A%20%7F");
}

}  // namespace
}  // namespace millrace::worker
