#include "process/supervisor.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {
namespace {

using namespace std::chrono_literals;

constexpr Duration without_end = std::chrono::hours(1);

// The environment of this process, with some variables replaced.
std::vector<std::string> variables(const std::vector<std::pair<std::string, std::string>>& others) {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::string_view name = text.substr(0, text.find('='));
    if (name == supervisor_variable) continue;
    const bool replaced =
        std::ranges::any_of(others, [&](const auto& other) { return other.first == name; });
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : others) all.push_back(name + "=" + value);
  all.push_back(fmt::format("{}={}", supervisor_variable, getpid()));
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// A child starts with default signal handling and with none of our files but the first three: a
// socket that it inherits would keep the port of a server that is gone.
struct FreshStart {
  FreshStart() {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    sigset_t set;
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attributes, &set);
    sigfillset(&set);
    sigdelset(&set, SIGKILL);
    sigdelset(&set, SIGSTOP);
    posix_spawnattr_setsigdefault(&attributes, &set);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~FreshStart() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
  }
  FreshStart(const FreshStart&) = delete;
  FreshStart& operator=(const FreshStart&) = delete;

  posix_spawnattr_t attributes = {};
  posix_spawn_file_actions_t files = {};
};

}  // namespace

bool supervised() {
  return std::getenv(supervisor_variable) != nullptr;
}

void stop_with_supervisor() {
  const char* text = std::getenv(supervisor_variable);
  if (text == nullptr) return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // The parent may have exited before the request.
  if (std::to_string(getppid()) != text) raise(SIGTERM);
}

Supervisor::Supervisor(Clock& clock, SupervisorOptions options)
    : clock_(clock), options_(std::move(options)) {}

Supervisor::~Supervisor() {
  kill_all();
  for (Child& child : children_) {
    if (child.pid != 0) waitpid(child.pid, nullptr, 0);
  }
}

void Supervisor::set_count(std::size_t count) {
  count_ = count;
  while (children_.size() < count) children_.push_back({.due = clock_.steady()});
  for (std::size_t i = count; i < children_.size(); ++i) {
    Child& child = children_[i];
    if (child.pid != 0 && !child.leaving) kill(child.pid, SIGTERM);
    child.leaving = true;
  }
}

void Supervisor::start(Child& child) {
  std::vector<std::string> command = options_.command;
  std::vector<std::string> environment = variables(options_.environment);
  auto arguments = pointers(command);
  auto names = pointers(environment);
  const FreshStart fresh;
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments.front(), &fresh.files, &fresh.attributes,
                                 arguments.data(), names.data());
  child.started = clock_.steady();
  if (error != 0) {
    child.young_deaths =
        std::max(child.young_deaths + 1, 2U);  // starting again at once will not help
    child.due = child.started + pause_of(child);
    options_.log(LogLevel::error, "a worker process could not be started",
                 {{"error", std::string(std::strerror(error))}});
    return;
  }
  child.pid = pid;
  child.leaving = false;
  options_.log(LogLevel::info, "worker process started", {{"process", std::int64_t{pid}}});
}

Duration Supervisor::pause_of(const Child& child) const {
  if (child.young_deaths < 2) return Duration::zero();
  const unsigned doublings = std::min(child.young_deaths - 2, 20U);
  return std::min(options_.first_pause * (1U << doublings), options_.longest_pause);
}

void Supervisor::ended(Child& child, int status) {
  const bool by_signal = WIFSIGNALED(status);
  const std::int64_t code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const std::int64_t number = by_signal ? WTERMSIG(status) : 0;
  const auto now = clock_.steady();
  const bool expected = child.leaving || stopping_;
  const bool settled = now - child.started >= options_.settled;
  const pid_t pid = std::exchange(child.pid, 0);
  if (expected && !by_signal && code == 0) {
    options_.log(LogLevel::info, "worker process stopped", {{"process", std::int64_t{pid}}});
    return;
  }
  ended_badly_ = ended_badly_ || expected;
  child.young_deaths = settled ? 0 : child.young_deaths + 1;
  const Duration pause = pause_of(child);
  child.due = now + pause;
  options_.log(LogLevel::error,
               expected ? "worker process failed" : "worker process died and is replaced",
               {{"process", std::int64_t{pid}},
                {"code", code},
                {"signal", number},
                {"pause_ms", static_cast<std::int64_t>(pause.count())}});
}

Duration Supervisor::tend() {
  Duration next = without_end;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    Child& child = children_[i];
    int status = 0;
    if (child.pid != 0 && waitpid(child.pid, &status, WNOHANG) == child.pid) ended(child, status);
    if (child.pid != 0 || i >= count_ || stopping_) continue;
    const auto now = clock_.steady();
    if (now >= child.due) start(child);
    if (child.pid == 0) {
      next = std::min(next, std::chrono::ceil<Duration>(child.due - clock_.steady()));
    }
  }
  // Removes slots that are no longer wanted, from the end.
  while (children_.size() > count_ && children_.back().pid == 0) children_.pop_back();
  return std::max(next, Duration::zero());
}

void Supervisor::stop() {
  stopping_ = true;
  for (const Child& child : children_) {
    if (child.pid != 0 && !child.leaving) kill(child.pid, SIGTERM);
  }
}

void Supervisor::kill_all() {
  stopping_ = true;
  for (const Child& child : children_) {
    if (child.pid != 0) kill(child.pid, SIGKILL);
  }
}

std::size_t Supervisor::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(children_, [](const Child& child) { return child.pid != 0; }));
}

std::vector<pid_t> Supervisor::pids() const {
  std::vector<pid_t> all;
  for (const Child& child : children_) {
    if (child.pid != 0) all.push_back(child.pid);
  }
  return all;
}

}  // namespace millrace
