#include "transfer/upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <array>
#include <sstream>

#include "tests/support/matchers.h"

namespace millrace::transfer {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view header = "{\"millrace_export\":{\"format\":1,\"minor\":0}}\n";

// In rooms of a few bytes each, so that lines are cut anywhere.
Result<std::string> send(const std::string& file, std::size_t room = 7) {
  std::istringstream in(file);
  Upload upload(in, "default", TimePoint{});
  if (auto good = upload.begin(); !good) return std::unexpected(good.error());
  std::string sent;
  std::string buffer(room, '\0');
  while (true) {
    const auto filled = upload.fill(buffer);
    if (!filled) return std::unexpected(filled.error());
    if (*filled == 0) break;
    sent.append(buffer, 0, *filled);
  }
  return sent;
}

TEST(Upload, an_export_goes_byte_for_byte) {
  const std::string file = std::string(header) +
                           "{\"queue\":{}}\n{\"task\":{}}\n{\"task\":{}}\n"
                           "{\"end\":{\"queues\":1,\"schedules\":0,\"memos\":0,\"tasks\":2}}\n";
  for (const std::size_t room : {1U, 7U, 4096U}) {
    const auto sent = send(file, room);
    ASSERT_THAT(sent, IsOk());
    EXPECT_EQ(*sent, file);
  }
}

TEST(Upload, a_queue_state_becomes_the_lines_of_an_export) {
  const auto sent = send(
      R"({"queues":{"high":["task-01890a5d-ac96-774b-bcce-b302099a8057"],"medium":[],"low":[]},
          "tasks":[{"id":"task-01890a5d-ac96-774b-bcce-b302099a8057","type":"chat",
                    "status":"queued","priority":"high","payload":{"prompt":"hi"}}]})");
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(
      *sent,
      AllOf(StartsWith("{\"millrace_export\":"), HasSubstr("\n{\"queue\":{\"name\":\"default\""),
            HasSubstr("\n{\"task\":{\"id\":\"01890a5d-ac96-774b-bcce-b302099a8057\""),
            HasSubstr("\n{\"end\":{\"queues\":1,\"schedules\":0,\"memos\":0,\"tasks\":1")));
}

TEST(Upload, what_is_neither_is_refused_before_anything_is_sent) {
  EXPECT_THAT(send("id,queue\n1,a\n"),
              FailsWith(ErrorCode::invalid, HasSubstr("neither an export")));
  EXPECT_THAT(send(""), FailsWith(ErrorCode::invalid, HasSubstr("empty")));
}

}  // namespace
}  // namespace millrace::transfer
