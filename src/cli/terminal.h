// The terminal as a whole screen: keys come one by one, nothing scrolls, and everything is as it
// was when we leave, whichever way.
#pragma once

#include <millrace/result.h>
#include <memory>
#include <string>
#include <vector>

#include "cli/key_reader.h"
#include "cli/screen.h"

namespace millrace::cli {

// One at a time: standard input and output of this process.
class Terminal {
 public:
  // `unavailable`: they are no terminal.
  static Result<std::unique_ptr<Terminal>> open(const Look& look);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();  // as it was before

  ScreenSize size() const;
  // Sends what changed since the last time.
  void draw(Screen screen);
  // The next draw() sends everything: somebody else has written to the screen.
  void forget() { shown_.clear(); }

  // Can be read when there are keys.
  int file() const;
  // Those that are there; does not wait. `gone()` afterwards: nobody is there any more.
  std::vector<KeyPress> read_keys();
  bool waits_for_more() const { return keys_.waits(); }
  std::vector<KeyPress> give_up_waiting() { return keys_.give_up(); }
  bool gone() const { return gone_; }

  // Leaves the screen, stops the process as Ctrl-Z does, and comes back when it goes on.
  void suspend();

 private:
  explicit Terminal(const Look& look) : look_(look) {}
  void write_all(std::string_view bytes);

  Look look_;
  KeyReader keys_;
  Screen shown_;
  ScreenSize drawn_size_;
  bool gone_ = false;
};

}  // namespace millrace::cli
