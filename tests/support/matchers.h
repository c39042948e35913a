// Matchers for Result<T>: EXPECT_THAT(put(task), IsOk()), FailsWith(ErrorCode::conflict) ...
#pragma once

#include <gmock/gmock.h>
#include <millrace/result.h>
#include <string>

#include "tests/support/print.h"

namespace millrace::test {

MATCHER(IsOk, negation ? "fails" : "succeeds") {
  if (arg.has_value()) return true;
  *result_listener << "which failed";
  return false;
}

// Succeeds, and the value matches: IsOkAndHolds(TaskState::queued).
MATCHER_P(
    IsOkAndHolds, value,
    "succeeds with a value that " +
        ::testing::DescribeMatcher<typename std::remove_cvref_t<arg_type>::value_type>(value)) {
  if (!arg.has_value()) {
    *result_listener << "which failed";
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

MATCHER_P(FailsWith, code, "fails with " + std::string(name_of(code))) {
  if (arg.has_value()) {
    *result_listener << "which succeeded";
    return false;
  }
  return arg.error().code == code;
}

// The message, too: FailsWith(ErrorCode::invalid, HasSubstr("0 to 9")).
MATCHER_P2(FailsWith, code, message,
           "fails with " + std::string(name_of(code)) + " and a message that " +
               ::testing::DescribeMatcher<std::string>(message)) {
  if (arg.has_value()) {
    *result_listener << "which succeeded";
    return false;
  }
  return arg.error().code == code &&
         ::testing::ExplainMatchResult(message, arg.error().message, result_listener);
}

// `limited`, with a retry_after.
MATCHER(IsLimited, "fails with limited and a retry_after of at least 1 ms") {
  if (arg.has_value()) {
    *result_listener << "which succeeded";
    return false;
  }
  return arg.error().code == ErrorCode::limited && arg.error().retry_after.has_value() &&
         *arg.error().retry_after > std::chrono::milliseconds::zero();
}

}  // namespace millrace::test
