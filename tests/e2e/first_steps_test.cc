// What a server prints for newcomers, pasted into a shell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <cstdlib>
#include <sstream>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;

class FirstSteps : public ::testing::Test {
 protected:
  std::string shell(const std::string& line) const {
    const std::string out = directory_ / "out";
    const std::string command = "ID='" + id_ + "' TOKEN='" + token_ + "' KEY='" + key_ + "'; " +
                                line + " > " + out + " 2>&1";
    std::system(command.c_str());
    return read_file(out);
  }

  // Every printed line that calls curl.
  void paste(const std::string& printed) {
    std::istringstream lines(printed);
    std::vector<std::string> answers;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  curl ")) continue;
      const std::string answer = shell(line);
      if (line.find("/take ") != std::string::npos) {
        id_ = field(answer, "id");
        token_ = field(answer, "token");
      }
      answers.push_back(answer);
    }
    ASSERT_EQ(answers.size(), 4U) << printed;
    EXPECT_THAT(answers[0], HasSubstr(R"("state":"queued")"));
    EXPECT_THAT(answers[1], HasSubstr(R"("to":"ann@example.com")"));
    EXPECT_THAT(answers[2], HasSubstr(R"("state":"completed")"));
    EXPECT_THAT(answers[3], HasSubstr(R"("completed":1)"));
  }

  TemporaryDirectory directory_;
  std::string id_;
  std::string token_;
  std::string key_;
};

TEST_F(FirstSteps, work_as_they_are_printed) {
  ServerProcess server({"--store", "memory:"});
  ASSERT_TRUE(server.ready());
  ASSERT_TRUE(server.says("/v1/queues/emails\n"));
  paste(server.said());
}

TEST_F(FirstSteps, work_with_a_key_too) {
  key_ = std::string(32, 'k');
  ServerProcess server({"--store", "memory:"}, {{"MILLRACE_ADMIN_KEY", key_}});
  ASSERT_TRUE(server.ready());
  ASSERT_TRUE(server.says("/v1/queues/emails\n"));
  paste(server.said());
}

}  // namespace
}  // namespace millrace::test
