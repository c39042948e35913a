#include "tests/e2e/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace millrace::test {
namespace {

constexpr int patience_ms = 60'000;

}  // namespace

std::string bytes_of(const Asked& asked) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n", asked.method, asked.path);
  if (!asked.key.empty()) text += fmt::format("Authorization: Bearer {}\r\n", asked.key);
  if (asked.method != "GET") {
    text +=
        fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", asked.body.size());
  }
  return text + "\r\n" + asked.body;
}

std::string field(std::string_view json, std::string_view name) {
  const std::string start = fmt::format("\"{}\":", name);
  const std::size_t at = json.find(start);
  if (at == json.npos) return {};
  json.remove_prefix(at + start.size());
  if (json.starts_with('"')) return std::string(json.substr(1, json.find('"', 1) - 1));
  return std::string(json.substr(0, json.find_first_of(",}")));
}

ServerProcess::ServerProcess(std::vector<std::string> arguments,
                             std::vector<std::pair<std::string, std::string>> environment) {
  int ends[2] = {};
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  errors_ = ends[0];
  std::vector<std::string> words = {MILLRACE_PROGRAM, "serve", "--listen", "127.0.0.1:0"};
  if (!arguments.empty() && arguments[0] == "--no-listen") {
    words.resize(2);
    arguments.erase(arguments.begin());
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (std::string& variable : variables) envp.push_back(variable.data());
  for (char** each = environ; *each != nullptr; ++each) envp.push_back(*each);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (posix_spawn(&process_, MILLRACE_PROGRAM, &files, nullptr, argv.data(), envp.data()) != 0) {
    process_ = 0;
  }
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
}

ServerProcess::~ServerProcess() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  close(errors_);
}

bool ServerProcess::read_more() {
  pollfd file{.fd = errors_, .events = POLLIN, .revents = 0};
  if (poll(&file, 1, patience_ms) <= 0) return false;
  char bytes[4096];
  const auto got = read(errors_, bytes, sizeof(bytes));
  if (got <= 0) return false;
  said_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

bool ServerProcess::says(std::string_view text, std::size_t times) {
  const auto seen = [&] {
    std::size_t count = 0;
    for (auto at = said_.find(text); at != said_.npos; at = said_.find(text, at + 1)) ++count;
    return count;
  };
  while (seen() < times) {
    if (!read_more()) return false;
  }
  return true;
}

bool ServerProcess::ready() {
  constexpr std::string_view mark = "ready url=";
  if (!says(mark) || !says("keys=")) return false;
  const std::size_t at = said_.find(mark);
  const std::size_t colon = said_.find(':', said_.find("://", at) + 3);
  // Of an IPv6 address the last colon before the space.
  const std::size_t space = said_.find(' ', at + mark.size());
  port_ = static_cast<std::uint16_t>(
      std::strtoul(said_.c_str() + said_.rfind(':', space) + 1, nullptr, 10));
  return colon != std::string::npos && port_ != 0;
}

RawClient ServerProcess::connect(bool tls) const {
  RawClient client(port_);
  if (tls) client.start_tls();
  return client;
}

Reply ServerProcess::ask(const Asked& asked) const {
  return connect().ask(bytes_of(asked));
}

void ServerProcess::signal(int number) const {
  if (process_ > 0) kill(process_, number);
}

void ServerProcess::break_disk() const {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  if (prlimit(process_, RLIMIT_FSIZE, &none, nullptr) != 0) std::abort();
}

int ServerProcess::exit() {
  while (read_more()) {
  }
  int status = 0;
  if (process_ <= 0 || waitpid(process_, &status, 0) != process_) return -1;
  process_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace millrace::test
