// docs/cli.md is true: every command of its walk is run, and prints what the page says.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <regex>
#include <sstream>

#include "tests/e2e/program.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {
namespace {

struct Step {
  std::string command = {};
  std::string output = {};
};

// Of the ```console blocks: lines behind "$ " are commands ("> " goes on with one), the others are
// what they print.
std::vector<Step> steps_of(const std::string& page) {
  std::vector<Step> steps;
  std::istringstream lines(page);
  std::string line;
  bool inside = false;
  while (std::getline(lines, line)) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```console";
    } else if (inside && line.starts_with("$ ")) {
      steps.push_back({.command = line.substr(2)});
    } else if (inside && line.starts_with("> ")) {
      steps.back().command += "\n" + line.substr(2);
    } else if (inside) {
      steps.back().output += line + "\n";
    }
  }
  return steps;
}

// What differs from run to run becomes the same.
std::string alike(std::string text) {
  const std::vector<std::pair<const char*, const char*>> rules = {
      {R"(\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)", "ID"},
      {R"(\bmr_[0-9a-f]{16}_[A-Za-z0-9_-]{43})", "KEY"},
      {R"(\b[0-9a-f]{16}\b)", "KEYID"},
      {R"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z)", "MOMENT"},
      {R"(127\.0\.0\.1:\d+)", "ADDRESS"},
      {R"(just now)", "1s ago"},
      {R"(less than a second|\b\d+ (s|min|h|seconds?|minutes?)\b)", "1s"},
      {R"(\b(\d+(ms|s|m|h|d))+\b)", "TIME"},
      {R"(<0\.1|\b\d+\.\d\b)", "RATE"},
      {R"((\b\d+|no) memos?\b)", "MEMOS"},  // a minute that ends leaves one
      {R"([ ]+)", " "},
      {R"( +\n)", "\n"},
      {R"(\n+$)", ""}};  // what `task result` prints ends as the result does
  for (const auto& [pattern, with] : rules) {
    text = std::regex_replace(text, std::regex(pattern), with);
  }
  return text;
}

int free_port() {
  const int socket_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(socket_, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
  close(socket_);
  return ntohs(address.sin_port);
}

// One bash for all of them. What goes on in the background must be there before the next one.
std::string script_of(const std::vector<Step>& steps, const std::string& directory) {
  const int port = free_port();
  std::string script = fmt::format(
      "cd {0}\nln -s {1} millrace\nPATH={0}:$PATH\nexport MILLRACE_LISTEN=127.0.0.1:{2} "
      "MILLRACE_URL=http://127.0.0.1:{2}\nunset MILLRACE_KEY\ntrap 'kill $(jobs -p)' EXIT\n",
      directory, MILLRACE_PROGRAM, port);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // `echo $?` is about the command before it.
    script += fmt::format("code=$?; echo '@@@{}'; (exit $code)\n{}\n", i, steps[i].command);
    if (steps[i].command.ends_with("&")) {
      script += "until millrace queues >/dev/null 2>&1; do kill -0 $! || break; done\n";
    }
  }
  return script + "echo '@@@end'\n";
}

TEST(CliWalk, every_command_of_the_first_ten_minutes_prints_what_the_page_says) {
  const auto steps = steps_of(read_file(MILLRACE_DOCS "/cli.md"));
  ASSERT_GT(steps.size(), 20U);
  const TemporaryDirectory directory;
  write_file(directory / "walk.sh", script_of(steps, directory.path()));
  const std::string printed =
      shell_output("bash --norc " + (directory / "walk.sh") + " 2>&1 </dev/null");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string begin = fmt::format("@@@{}\n", i);
    const std::size_t at = printed.find(begin);
    ASSERT_NE(at, std::string::npos) << "no " << steps[i].command << " in\n" << printed;
    const std::size_t from = at + begin.size();
    const std::string output = printed.substr(from, printed.find("@@@", from) - from);
    EXPECT_EQ(alike(output), alike(steps[i].output)) << "$ " << steps[i].command << "\n" << output;
  }
}

}  // namespace
}  // namespace millrace::test
