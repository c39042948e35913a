#include "bench/processes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/http_load.h"
#include "bench/measure.h"
#include "bench/require.h"

namespace millrace::bench {
namespace {

constexpr double patience = 300;  // seconds until a program is ready

[[noreturn]] void give_up_child(const char* what) {
  dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
  _exit(127);
}

void become(const std::string& user) {
  if (user.empty() || geteuid() != 0) return;
  const passwd* entry = getpwnam(user.c_str());
  if (entry == nullptr) give_up_child(("no user " + user).c_str());
  if (setgid(entry->pw_gid) != 0 || setuid(entry->pw_uid) != 0) give_up_child("setuid");
}

// Between fork and exec; the bench has one thread, so anything may be called.
[[noreturn]] void become_program(const Command& command, pid_t parent) {
  if (!command.directory.empty() && chdir(command.directory.c_str()) != 0) {
    give_up_child(command.directory.c_str());
  }
  const int out = open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (out < 0) give_up_child(command.log.c_str());
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  become(command.user);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // after setuid, which forgets it
  if (getppid() != parent) _exit(127);
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  give_up_child(words.front());
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Reads /proc/PID/stat: seconds of processor time; nothing for a process that has ended.
struct Times {
  pid_t parent = 0;
  double own = 0;
  double ended_children = 0;
};

Times times_of(pid_t process) {
  const std::string text = text_of(fmt::format("/proc/{}/stat", process));
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return {};
  // The fields after it are counted from the third.
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  Times times;
  fields >> skipped >> times.parent;
  for (int field = 5; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  double children_user = 0;
  double children_system = 0;
  fields >> user >> system >> children_user >> children_system;
  const auto tick = static_cast<double>(sysconf(_SC_CLK_TCK));
  times.own = (user + system) / tick;
  times.ended_children = (children_user + children_system) / tick;
  return times;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool listens(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  const bool connected =
      connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(socket);
  return connected;
}

}  // namespace

Process::Process(const Command& command) : log_(command.log) {
  const pid_t parent = getpid();
  id_ = fork();
  require(id_ >= 0, "fork");
  if (id_ == 0) become_program(command, parent);
}

Process::~Process() {
  stop(SIGTERM);
}

bool Process::running() {
  if (!ended_) ended_ = waitpid(id_, nullptr, WNOHANG) == id_;
  return !ended_;
}

bool Process::ended_within(double seconds) {
  if (!running()) return true;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, id_, 0));
  if (handle < 0) return false;
  pollfd ended{.fd = handle, .events = POLLIN, .revents = 0};
  poll(&ended, 1, static_cast<int>(seconds * 1000));
  close(handle);
  return !running();
}

void Process::stop(int signal) {
  if (!running()) return;
  kill(id_, signal);
  if (ended_within(20)) return;
  kill(id_, SIGKILL);
  waitpid(id_, nullptr, 0);
  ended_ = true;
}

std::string Process::printed() const {
  return text_of(log_);
}

double Process::cpu_seconds() const {
  return times_of(id_).own;
}

std::uint64_t Process::resident_bytes() const {
  std::istringstream fields(text_of(fmt::format("/proc/{}/statm", id_)));
  std::uint64_t pages = 0;
  fields >> pages >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

double cpu_seconds_with_children(pid_t process) {
  const Times times = times_of(process);
  double sum = times.own + times.ended_children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const Times other = times_of(static_cast<pid_t>(std::stol(name)));
    if (other.parent == process) sum += other.own;
  }
  return sum;
}

std::string output_of(Command command) {
  const test::TemporaryDirectory directory;
  command.log = directory / "output";
  Process process(command);
  siginfo_t how{};
  require(waitid(P_PID, static_cast<id_t>(process.id()), &how, WEXITED | WNOWAIT) == 0, "waitid");
  std::string output = process.printed();
  if (how.si_code != CLD_EXITED || how.si_status != 0) {
    std::string line;
    for (const std::string& word : command.words) line += word + " ";
    require(false, fmt::format("{}\n{}", line, output));
  }
  return output;
}

std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  require(bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
              getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0,
          "a free port");
  close(socket);
  return ntohs(address.sin_port);
}

void wait_for_port(Process& process, std::uint16_t port) {
  const double until = wall_seconds() + patience;
  while (!listens(port)) {
    require(process.running(), "a program that was to listen ended: " + process.printed());
    require(wall_seconds() < until, "a program listens within some minutes");
    poll(nullptr, 0, 10);
  }
}

void raise_file_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string own_directory() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

TestServer::TestServer(const std::string& program, const std::vector<std::string>& flags) {
  start(program, "journal:" + directory_.path(), flags);
}

TestServer::TestServer(const std::string& program, const std::string& store,
                       const std::vector<std::string>& flags) {
  start(program, store, flags);
}

void TestServer::start(const std::string& program, const std::string& store,
                       const std::vector<std::string>& flags) {
  port_ = free_port();
  Command command{
      .words = {program, "serve", "--listen", fmt::format("127.0.0.1:{}", port_), "--store", store},
      .log = log_ / "log"};
  command.words.insert(command.words.end(), flags.begin(), flags.end());
  process_ = std::make_unique<Process>(command);
  wait_for_port(*process_, port_);
  const double until = wall_seconds() + patience;
  const std::string request = http_request("GET", "/ready");
  HttpLoad load(port_, 1);
  while (load.ask(0, request).status != 200) {
    require(wall_seconds() < until, "the server is ready within some minutes");
    poll(nullptr, 0, 10);
  }
}

}  // namespace millrace::bench
