#include "process/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <cerrno>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>

namespace millrace {
namespace {

// Where the signal handler writes; -1: no Signals object exists.
std::atomic<int> listener = -1;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait");

constexpr unsigned char wake_word = 0;  // no signal has this number

extern "C" void hear(int number) {
  const int error = errno;
  const auto word = static_cast<unsigned char>(number);
  // A full pipe holds enough to wake the reader already.
  [[maybe_unused]] const auto written = write(listener.load(), &word, 1);
  errno = error;
}

extern "C" void leave_now(int number) {
  _exit(128 + number);
}

SignalKind meaning(unsigned char word) {
  switch (word) {
    case wake_word:
      return SignalKind::woken;
    case SIGHUP:
      return SignalKind::reload;
    case SIGTTIN:
      return SignalKind::more;
    case SIGTTOU:
      return SignalKind::fewer;
    case SIGCHLD:
      return SignalKind::child;
    case SIGWINCH:
      return SignalKind::resized;
    default:
      return SignalKind::stop;
  }
}

struct sigaction action_of(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  return action;
}

}  // namespace

Signals::Signals(std::initializer_list<int> also) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // exceeding a limit on file sizes shall be an error of the write
  int ends[2];
  // Without the pipe the process could not be stopped; the system has no reason to refuse it.
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) std::abort();
  reads_ = ends[0];
  writes_ = ends[1];
  listener.store(writes_);
  std::vector<int> heard = {SIGTERM, SIGINT};
  heard.insert(heard.end(), also.begin(), also.end());
  const struct sigaction action = action_of(hear);
  for (const int number : heard) {
    before_.emplace_back(number, action);
    sigaction(number, &action, &before_.back().second);
  }
}

Signals::~Signals() {
  for (const auto& [number, action] : before_) sigaction(number, &action, nullptr);
  listener.store(-1);
  close(reads_);
  close(writes_);
}

SignalKind Signals::wait(Duration at_most) {
  pollfd file{.fd = reads_, .events = POLLIN, .revents = 0};
  const auto ms = std::clamp<Duration::rep>(at_most.count(), 0, std::numeric_limits<int>::max());
  // A signal that interrupts this poll has written to the pipe first.
  poll(&file, 1, static_cast<int>(ms));
  unsigned char word = wake_word;
  if (read(reads_, &word, 1) != 1) return SignalKind::nothing;
  if (word != wake_word) return meaning(word);
  // Many wakes count as one. A signal after them is reported at once.
  while (read(reads_, &word, 1) == 1) {
    if (word == wake_word) continue;
    wake();
    return meaning(word);
  }
  return SignalKind::woken;
}

void Signals::wake() {
  [[maybe_unused]] const auto written = write(writes_, &wake_word, 1);
}

void Signals::exit_on_the_next() {
  const struct sigaction action = action_of(leave_now);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace millrace
