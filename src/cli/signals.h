// What the system tells a server: stop, or read your files again.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <optional>

namespace millrace::cli {

enum class Told : std::uint8_t {
  nothing,  // the time is over
  stop,     // SIGTERM or SIGINT
  reload,   // SIGHUP
  woken,    // wake() was called
};

// One a process, made before any thread: from then on those signals wait to be asked for, in every
// thread. SIGPIPE and SIGXFSZ are ignored.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();  // leaves the signals as they are: the process is about to end

  Told wait(Duration at_most);
  // Ends a wait() now or later; from any thread.
  void wake();

  // From now on a further SIGTERM or SIGINT ends the process at once, with 128 + its number.
  void exit_on_the_next();

 private:
  int signals_ = -1;
  int wakes_ = -1;
};

}  // namespace millrace::cli
