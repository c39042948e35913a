// A server and commands that speak to it.
#pragma once

#include <gtest/gtest.h>
#include <algorithm>
#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {

class ConsoleTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.ready()) << server_.said(); }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }

  // A command of this server.
  Ran run(std::vector<std::string> arguments, const std::string& in = "/dev/null") const {
    const auto dashes = std::ranges::find(arguments, "--");
    arguments.insert(dashes, {"--server", url()});
    return run_program(arguments, in);
  }
  // What a good one prints, without the line's end.
  std::string out_of(const std::vector<std::string>& arguments) const {
    Ran ran = run(arguments);
    EXPECT_EQ(ran.exit, 0) << ::testing::PrintToString(arguments) << ran.err;
    if (ran.out.ends_with('\n')) ran.out.pop_back();
    return ran.out;
  }
  // Everything that waits there is done by a command.
  void work(const std::string& queue, const std::vector<std::string>& command) const {
    std::vector<std::string> words = {"work", "--until-empty", "--name", "tester", queue, "--"};
    words.insert(words.end(), command.begin(), command.end());
    EXPECT_EQ(run(words).exit, 0);
  }
  std::string file(const std::string& name, const std::string& bytes) const {
    write_file(directory_ / name, bytes);
    return directory_ / name;
  }

  TemporaryDirectory directory_;
  ServerProcess server_{{"--store", "memory:"}};
};

}  // namespace millrace::test
