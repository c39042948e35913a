// The signals that a program reacts to: stop, reload files, and the like.
#pragma once

#include <millrace/time.h>
#include <signal.h>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace millrace {

enum class SignalKind : std::uint8_t {
  nothing,  // the time is over
  stop,     // SIGTERM or SIGINT
  reload,   // SIGHUP
  more,     // SIGTTIN: one process more
  fewer,    // SIGTTOU: one less
  child,    // SIGCHLD: a child may have ended
  resized,  // SIGWINCH: the terminal has another size
  woken,    // wake() was called
};

// One object per process. Catches SIGTERM, SIGINT and those of `also`; other signals keep their
// effect. Ignores SIGPIPE and SIGXFSZ.
class Signals {
 public:
  Signals(std::initializer_list<int> also = {});
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();  // restores the previous handlers

  SignalKind wait(Duration at_most);
  // Readable when wait() would return at once, for callers that poll other files, too.
  int file() const { return reads_; }
  // Ends a wait() now or later; from any thread.
  void wake();

  // From now on a further SIGTERM or SIGINT ends the process at once, with 128 + its number.
  void exit_on_the_next();

 private:
  int reads_ = -1;
  int writes_ = -1;
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace millrace
