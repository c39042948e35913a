#include "worker/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace millrace::worker {
namespace {

struct Pipe {
  Descriptor read;
  Descriptor write;
};

// Never 0, 1 or 2, which this process may have closed: the child's own streams go there.
Result<Pipe> make_pipe() {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::unavailable,
                fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  for (Descriptor* end : {&pipe.read, &pipe.write}) {
    if (end->number() > 2) continue;
    Descriptor higher(fcntl(end->number(), F_DUPFD_CLOEXEC, 3));
    if (!higher.open()) {
      return fail(ErrorCode::unavailable,
                  fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    *end = std::move(higher);
  }
  return pipe;
}

void unblock(const Descriptor& end) {
  fcntl(end.number(), F_SETFL, fcntl(end.number(), F_GETFL) | O_NONBLOCK);
}

// What the child needs, prepared before there is one: the child may neither allocate nor lock.
struct Child {
  const char* program;
  const char* directory;  // null: stay
  char* const* arguments;
  char* const* environment;
  std::uint64_t memory;
  int in;
  int out;
  int err;
  int report;  // where the child reports an errno
  pid_t parent;
};

[[noreturn]] void give_up(const Child& child) {
  const int error = errno;
  (void)!write(child.report, &error, sizeof(error));
  _exit(127);
}

// Calls only what POSIX calls async-signal-safe, and changes nothing in memory: it is the parent's.
[[noreturn]] void become(const Child& child) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child.parent) _exit(127);  // the parent has exited already
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &usual, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dup2(child.in, 0) < 0 || dup2(child.out, 1) < 0 || dup2(child.err, 2) < 0) give_up(child);
  // Closes descriptors that a library opened without close-on-exec.
  constexpr unsigned close_on_exec = 4;  // CLOSE_RANGE_CLOEXEC
  if (syscall(SYS_close_range, 3U, ~0U, close_on_exec) != 0) {
    for (int number = 3; number < 65536; ++number) fcntl(number, F_SETFD, FD_CLOEXEC);
  }
  if (child.memory != 0) {
    const struct rlimit limit = {child.memory, child.memory};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) give_up(child);
  }
  if (child.directory != nullptr && chdir(child.directory) != 0) give_up(child);
  execve(child.program, child.arguments, child.environment);
  give_up(child);
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// With every signal blocked, so that no signal handler of this process runs in the child. vfork()
// and not fork(), which would copy the page tables of a server with gigabytes of tasks and make
// each of its writes afterwards a page fault. The child shares this memory until it has become the
// program, and this thread waits so long. (posix_spawn() does the same, but limits no memory and
// asks for no signal when the parent dies.)
pid_t start_quietly(const Child& child) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t process = vfork();
  if (process == 0) become(child);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return process;
}

std::unexpected<Error> not_started(const ChildProcessPlan& plan, int error) {
  const bool wrong = error == ENOENT || error == ENOTDIR;
  const bool unusable = error == EACCES || error == ENOEXEC || error == E2BIG || error == EISDIR;
  const ErrorCode code = wrong      ? ErrorCode::not_found
                         : unusable ? ErrorCode::invalid
                                    : ErrorCode::unavailable;
  return fail(code, fmt::format("cannot run {}{}: {}", plan.program,
                                plan.directory.empty() ? "" : " in " + plan.directory,
                                std::strerror(error)));
}

// The errno that the child has reported; 0: it runs the program.
int error_of(const Descriptor& report) {
  int error = 0;
  while (read(report.number(), &error, sizeof(error)) < 0 && errno == EINTR) continue;
  return error;
}

}  // namespace

void Descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

Result<ChildProcess> ChildProcess::start(const ChildProcessPlan& plan) {
  auto in = make_pipe();
  auto out = in ? make_pipe() : std::move(in);
  if (!out) return std::unexpected(std::move(out.error()));
  auto err = make_pipe();
  auto report = err ? make_pipe() : std::move(err);
  if (!report) return std::unexpected(std::move(report.error()));
  const auto arguments = pointers_to(plan.arguments);
  const auto environment = pointers_to(plan.environment);
  const pid_t child =
      start_quietly({.program = plan.program.c_str(),
                     .directory = plan.directory.empty() ? nullptr : plan.directory.c_str(),
                     .arguments = arguments.data(),
                     .environment = environment.data(),
                     .memory = plan.memory,
                     .in = in->read.number(),
                     .out = out->write.number(),
                     .err = err->write.number(),
                     .report = report->write.number(),
                     .parent = getpid()});
  if (child < 0) return not_started(plan, errno);
  ChildProcess process(child);
  setpgid(child,
          child);  // parent and child both set it, because the group may be signalled at once
  process.watch_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  report->write.close();
  if (const int error = error_of(report->read); error != 0) return not_started(plan, error);
  process.in = std::move(in->write);
  process.out = std::move(out->read);
  process.err = std::move(err->read);
  for (const Descriptor* end : {&process.in, &process.out, &process.err}) unblock(*end);
  return process;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : in(std::move(other.in)),
      out(std::move(other.out)),
      err(std::move(other.err)),
      process_(std::exchange(other.process_, -1)),
      watch_(std::move(other.watch_)) {}

ChildProcess::~ChildProcess() {
  if (process_ <= 0) return;
  signal(SIGKILL);
  reap();
}

// The process stays a zombie until it is reaped, so that the system reuses neither its id nor its
// group's.
bool ChildProcess::has_ended() const {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process_;
}

void ChildProcess::signal(int number) const {
  if (kill(-process_, number) != 0) kill(process_, number);
}

int ChildProcess::reap() {
  const pid_t process = std::exchange(process_, -1);
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  kill(-process, SIGKILL);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace millrace::worker
