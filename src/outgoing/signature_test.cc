#include "outgoing/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/base64.h"

namespace millrace::outgoing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr std::string_view secret_text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr std::string_view id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const TimePoint at{std::chrono::seconds(1614265330)};
constexpr std::string_view body = R"({"test": 2432232314})";
constexpr std::string_view signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

Secret secret_of(char byte) {
  return *parse_secret("whsec_" + base64_encode(std::string(32, byte)));
}

std::string refusal(std::string_view text) {
  auto parsed = parse_secret(text);
  return parsed ? "accepted" : parsed.error().message;
}

TEST(Signature, is_that_of_the_published_example) {
  const std::vector<Secret> secrets = {*parse_secret(secret_text)};
  EXPECT_EQ(sign(secrets, id, at, body), signature);
}

TEST(Signature, counts_whole_seconds) {
  const std::vector<Secret> secrets = {*parse_secret(secret_text)};
  EXPECT_EQ(sign(secrets, id, at + Duration(999), body), signature);
  EXPECT_NE(sign(secrets, id, at + Duration(1000), body), signature);
}

TEST(Signature, depends_on_everything_that_is_signed) {
  const std::vector<Secret> secrets = {*parse_secret(secret_text)};
  EXPECT_NE(sign(secrets, "msg_other", at, body), signature);
  EXPECT_NE(sign(secrets, id, at, "{}"), signature);
  EXPECT_NE(sign(std::vector{secret_of('x')}, id, at, body), signature);
}

TEST(Signature, there_is_one_for_each_secret) {
  const std::vector<Secret> secrets = {*parse_secret(secret_text), secret_of('x')};
  EXPECT_EQ(sign(secrets, id, at, body),
            std::string(signature) + " " + sign(std::vector{secrets[1]}, id, at, body));
}

TEST(Signature, headers_are_those_of_the_standard) {
  const std::vector<Secret> secrets = {*parse_secret(secret_text)};
  EXPECT_THAT(signature_headers(secrets, id, at, body),
              ElementsAre(Pair("webhook-id", id), Pair("webhook-timestamp", "1614265330"),
                          Pair("webhook-signature", signature)));
  EXPECT_THAT(signature_headers({}, id, at, body),
              ElementsAre(Pair("webhook-id", id), Pair("webhook-timestamp", "1614265330")));
}

TEST(Signature, secrets_that_are_none_are_refused_without_being_shown) {
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
              AllOf(HasSubstr("does not begin with whsec_"), HasSubstr("openssl rand"),
                    Not(HasSubstr("MfKQ"))));
  EXPECT_THAT(refusal("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa!!"),
              AllOf(HasSubstr("not base64"), Not(HasSubstr("MfKQ")), Not(HasSubstr("!!"))));
  EXPECT_THAT(refusal("whsec_MfKQ"), AllOf(HasSubstr("has 3 bytes"), HasSubstr("24 to 64")));
  EXPECT_THAT(refusal("whsec_" + base64_encode(std::string(65, 'x'))), HasSubstr("has 65 bytes"));
  EXPECT_EQ(refusal("whsec_" + base64_encode(std::string(24, '\0'))), "accepted");
  EXPECT_EQ(refusal("whsec_" + base64_encode(std::string(64, 'x'))), "accepted");
}

}  // namespace
}  // namespace millrace::outgoing
