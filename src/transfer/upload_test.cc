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

struct Sent {
  std::string text;
  Result<void> end;
};

// In rooms of a few bytes each, so that lines are cut anywhere.
Result<Sent> send(const std::string& file, std::size_t room = 7) {
  std::istringstream in(file);
  Upload upload(in, "default", TimePoint{});
  if (auto good = upload.begin(); !good) return std::unexpected(good.error());
  Sent sent;
  std::string buffer(room, '\0');
  while (true) {
    const auto filled = upload.fill(buffer);
    if (!filled) return std::unexpected(filled.error());
    if (*filled == 0) break;
    sent.text.append(buffer, 0, *filled);
  }
  sent.end = upload.check_end();
  return sent;
}

TEST(Upload, an_export_goes_byte_for_byte) {
  const std::string file = std::string(header) +
                           "{\"queue\":{}}\n{\"task\":{}}\n{\"task\":{}}\n"
                           "{\"end\":{\"queues\":1,\"schedules\":0,\"memos\":0,\"tasks\":2}}\n";
  for (const std::size_t room : {1U, 7U, 4096U}) {
    const auto sent = send(file, room);
    ASSERT_THAT(sent, IsOk());
    EXPECT_EQ(sent->text, file);
    EXPECT_THAT(sent->end, IsOk());
  }
}

TEST(Upload, a_file_that_was_cut_short_is_noticed_at_its_end) {
  const auto sent = send(std::string(header) + "{\"task\":{}}\n");
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(sent->end, FailsWith(ErrorCode::invalid, HasSubstr("ends after line 2")));
}

TEST(Upload, lines_that_are_missing_in_the_middle_are_noticed) {
  const auto sent = send(std::string(header) +
                         "{\"task\":{}}\n{\"end\":{\"queues\":0,\"schedules\":0,\"memos\":0,"
                         "\"tasks\":3}}\n");
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(sent->end, FailsWith(ErrorCode::invalid, HasSubstr("lines are missing")));
}

TEST(Upload, a_queue_state_becomes_the_lines_of_an_export) {
  const auto sent = send(
      R"({"queues":{"high":["task-01890a5d-ac96-774b-bcce-b302099a8057"],"medium":[],"low":[]},
          "tasks":[{"id":"task-01890a5d-ac96-774b-bcce-b302099a8057","type":"chat",
                    "status":"queued","priority":"high","payload":{"prompt":"hi"}}]})");
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(
      sent->text,
      AllOf(StartsWith("{\"millrace_export\":"), HasSubstr("\n{\"queue\":{\"name\":\"default\""),
            HasSubstr("\n{\"task\":{\"id\":\"01890a5d-ac96-774b-bcce-b302099a8057\"")));
  EXPECT_THAT(sent->end, IsOk());
}

TEST(Upload, what_is_neither_is_refused_before_anything_is_sent) {
  EXPECT_THAT(send("id,queue\n1,a\n"),
              FailsWith(ErrorCode::invalid, HasSubstr("neither an export")));
  EXPECT_THAT(send(""), FailsWith(ErrorCode::invalid, HasSubstr("empty")));
}

}  // namespace
}  // namespace millrace::transfer
