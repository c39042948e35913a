#include "api/wire/beat.h"

#include <gtest/gtest.h>

namespace millrace::wire {
namespace {

using namespace std::chrono_literals;

WorkerReport full() {
  return {.worker = "w",
          .processors = 8,
          .queues = {{.queue = "emails",
                      .processors = 3,
                      .most = 5,
                      .busy = 2,
                      .handled = 100,
                      .errors = 7,
                      .retried = 6,
                      .busy_time = 1500ms,
                      .last_error = "no \"route\""},
                     {.queue = "images"}},
          .stopping = true};
}

TEST(Beat, a_report_is_read_as_it_was_written) {
  std::string text;
  append(text, full());
  EXPECT_EQ(text,
            R"({"processors":8,"queues":[{"queue":"emails","processors":3,"most":5,"busy":2,)"
            R"("handled":100,"errors":7,"retried":6,"busy_ms":1500,"last_error":"no \"route\""},)"
            R"({"queue":"images","processors":0,"most":0,"busy":0}],"stopping":true})");
  const auto read = read_report(text, "w");
  ASSERT_TRUE(read);
  std::string again;
  append(again, *read);
  EXPECT_EQ(again, text);
  EXPECT_EQ(read->worker, "w");
  EXPECT_EQ(read->queues[0].busy_time, 1500ms);
  EXPECT_TRUE(read->stopping);
}

TEST(Beat, instructions_are_read_as_they_were_written) {
  std::string text;
  append(text, Instructions{});
  EXPECT_EQ(text, "{}");
  EXPECT_FALSE(read_instructions(text)->assignments);
  text.clear();
  append(text, Instructions{.assignments = {{{"a", 3}, {"b", 0}}}});
  EXPECT_EQ(text, R"({"assignments":[{"queue":"a","processors":3},{"queue":"b","processors":0}]})");
  EXPECT_EQ(read_instructions(text)->assignments, (std::vector<Assignment>{{"a", 3}, {"b", 0}}));
  text.clear();
  append(text, Instructions{.assignments = std::vector<Assignment>{}});
  EXPECT_EQ(text, R"({"assignments":[]})");
  EXPECT_EQ(read_instructions(text)->assignments, std::vector<Assignment>{});
}

TEST(Beat, what_makes_no_sense_is_refused_with_its_path) {
  const auto report = [](std::string_view text) {
    const auto read = read_report(text, "w");
    return read ? "nothing was wrong" : read.error().error.message;
  };
  EXPECT_EQ(report("{}"), "processors is missing");
  EXPECT_EQ(report(R"({"processors":-1})"),
            "processors is -1; allowed is a whole number from 0 to 4294967295");
  EXPECT_EQ(report(R"({"processors":1,"queues":[{}]})"), "queues[0].queue is missing");
  EXPECT_EQ(report(R"({"processors":1,"name":"w"})"),
            R"("name" is not known; known here are processors, queues, stopping)");
  EXPECT_EQ(report("["), "the JSON ends in the middle");
  const auto told = read_instructions(R"({"assignments":[{"queue":"a"}]})");
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().error.message, "assignments[0].processors is missing");
}

}  // namespace
}  // namespace millrace::wire
