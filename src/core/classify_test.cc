#include "core/classify.h"

#include "core/retry_presets.h"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace millrace {
namespace {

constexpr RetryPolicy everything{};
constexpr RetryPolicy listed = presets::claude_proxy;

bool retried(const RetryPolicy& policy, std::string_view code, std::string_view message = "") {
  return is_retryable(policy, {.code = std::string(code), .message = std::string(message)});
}

// S0-128 S0-150
TEST(Classify, the_transient_codes_are_retried) {
  for (const std::string_view code :
       {"rate_limit_exceeded", "timeout", "connection_error", "service_unavailable",
        "internal_server_error", "claude_api_429", "claude_api_500", "claude_api_502",
        "claude_api_503", "claude_api_504"}) {
    EXPECT_TRUE(retried(listed, code)) << code;
  }
}

// D-09: what the API really sends.
TEST(Classify, the_types_of_the_api_itself_and_its_overload_are_retried) {
  for (const std::string_view code :
       {"claude_api_529", "rate_limit_error", "overloaded_error", "api_error", "timeout_error"}) {
    EXPECT_TRUE(retried(listed, code)) << code;
  }
}

// S0-129 S0-153
TEST(Classify, the_transient_fragments_are_found_anywhere_in_the_message) {
  for (const std::string_view fragment :
       {"timeout", "connection reset", "too many requests", "rate limit", "temporarily unavailable",
        "internal server error", "bad gateway", "service unavailable", "gateway timeout",
        "overloaded"}) {
    const std::string message = "upstream said: " + std::string(fragment) + ", sorry";
    EXPECT_TRUE(retried(listed, "whatever", message)) << message;
  }
}

// S0-152
TEST(Classify, the_message_is_compared_in_lower_case) {
  EXPECT_TRUE(retried(listed, "x", "Connection Reset by peer"));
  EXPECT_TRUE(retried(listed, "x", "503 SERVICE UNAVAILABLE"));
  EXPECT_FALSE(retried(listed, "x", "connection\u00a0reset"));
}

TEST(Classify, what_is_not_on_the_list_is_final) {
  EXPECT_FALSE(retried(listed, "task_processing_error", "no such customer"));
  EXPECT_FALSE(retried(listed, "", ""));
  EXPECT_FALSE(retried(listed, "claude_api_404", "not found"));
  EXPECT_FALSE(retried(listed, "timeouts"));
  EXPECT_FALSE(retried(listed, "Timeout"));
}

// C-04
TEST(Classify, a_policy_for_all_errors_retries_the_unknown_ones_too) {
  EXPECT_TRUE(retried(everything, "task_processing_error", "no such customer"));
  EXPECT_TRUE(retried(everything, "", ""));
  EXPECT_TRUE(retried(everything, "claude_api_404"));
}

// S0-123 C-04
TEST(Classify, what_can_only_fail_again_is_never_retried_whatever_the_policy) {
  for (const std::string_view code :
       {"authentication_error", "claude_api_401", "invalid_request", "invalid_request_error",
        "unsupported_task_type", "invalid_payload"}) {
    EXPECT_FALSE(retried(everything, code, "timeout")) << code;
    EXPECT_FALSE(retried(listed, code, "timeout")) << code;
  }
}

}  // namespace
}  // namespace millrace
