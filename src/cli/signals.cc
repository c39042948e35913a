#include "cli/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace millrace::cli {
namespace {

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  return set;
}

extern "C" void leave_now(int signal) {
  _exit(128 + signal);
}

}  // namespace

Signals::Signals() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files shall be an error of the write
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  wakes_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  // Without these two nothing can be told to stop; there is no reason for the system to refuse.
  if (signals_ < 0 || wakes_ < 0) std::abort();
}

Signals::~Signals() {
  close(signals_);
  close(wakes_);
}

Told Signals::wait(Duration at_most) {
  std::array<pollfd, 2> files = {pollfd{.fd = signals_, .events = POLLIN, .revents = 0},
                                 pollfd{.fd = wakes_, .events = POLLIN, .revents = 0}};
  const auto ms = std::clamp<Duration::rep>(at_most.count(), 0, std::numeric_limits<int>::max());
  poll(files.data(), files.size(), static_cast<int>(ms));
  signalfd_siginfo info{};
  if (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    return info.ssi_signo == SIGHUP ? Told::reload : Told::stop;
  }
  std::uint64_t wakes = 0;
  return read(wakes_, &wakes, sizeof(wakes)) == sizeof(wakes) ? Told::woken : Told::nothing;
}

void Signals::wake() {
  const std::uint64_t one = 1;
  // It can only fail where nobody has listened for 2^64 wakes.
  [[maybe_unused]] const auto written = write(wakes_, &one, sizeof(one));
}

void Signals::exit_on_the_next() {
  struct sigaction action = {};
  action.sa_handler = leave_now;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace millrace::cli
