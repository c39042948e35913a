#include "tests/support/child.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/support/temporary_directory.h"

namespace millrace::test {
namespace {

// Between fork and exec, where a program with threads may call only what is safe in signal
// handlers.
[[noreturn]] void become(char* const* words, Account account, int log, int with_us, pid_t parent) {
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  if (geteuid() == 0 && account.user != 0 &&
      (syscall(SYS_setgroups, 0, nullptr) != 0 || syscall(SYS_setgid, account.group) != 0 ||
       syscall(SYS_setuid, account.user) != 0)) {
    _exit(126);
  }
  prctl(PR_SET_PDEATHSIG, with_us);  // after setuid, which forgets it
  if (getppid() != parent) _exit(126);
  execv(words[0], words);
  _exit(127);
}

}  // namespace

Account Account::for_postgres() {
  if (geteuid() != 0) return {.user = geteuid(), .group = getegid()};
  const passwd* entry = getpwnam("postgres");
  if (entry == nullptr) throw std::runtime_error("there is no user postgres (package postgresql)");
  return {.user = entry->pw_uid, .group = entry->pw_gid};
}

void Account::own(const std::string& path) const {
  if (geteuid() == 0 && chown(path.c_str(), user, group) != 0) {
    throw std::runtime_error("cannot chown " + path);
  }
}

Child::Child(std::vector<std::string> words, Account account, std::string log, int with_us)
    : log_(std::move(log)) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int out = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (out < 0) throw std::runtime_error("cannot write " + log_);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(pointers.data(), account, out, with_us, parent);
  close(out);
  if (pid_ < 0) throw std::runtime_error("fork");
}

Child::~Child() {
  if (!running()) return;
  kill(pid_, SIGKILL);
  wait();
}

bool Child::running() {
  if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return !ended_;
}

bool Child::ended_within(int milliseconds) {
  if (!running()) return true;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (handle < 0) throw std::runtime_error("pidfd_open");
  pollfd ended{.fd = handle, .events = POLLIN, .revents = 0};
  poll(&ended, 1, milliseconds);
  close(handle);
  return !running();
}

bool Child::stop(int signal) {
  if (running()) {
    kill(pid_, signal);
    if (!ended_within(20'000)) kill(pid_, SIGKILL);
  }
  return wait();
}

bool Child::wait() {
  while (!ended_within(-1)) {
  }
  return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

std::string Child::printed() const {
  return text_of_file(log_);
}

std::string run_child(const std::vector<std::string>& words, Account account) {
  const TemporaryDirectory directory;
  Child child(words, account, directory / "output", SIGKILL);
  if (!child.wait()) {
    std::string line;
    for (const std::string& word : words) line += word + " ";
    throw std::runtime_error(line + "failed: " + child.printed());
  }
  return child.printed();
}

std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

unsigned short free_loopback_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool found = bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(socket);
  if (!found) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

}  // namespace millrace::test
