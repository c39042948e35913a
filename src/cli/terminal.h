// The terminal as a full screen: keys come one by one, nothing scrolls, and everything is restored
// at the end, however the process ends.
#pragma once

#include <millrace/result.h>
#include <memory>
#include <string>
#include <vector>

#include "cli/key_reader.h"
#include "cli/screen.h"

namespace millrace::cli {

// One per process: its standard input and output.
class Terminal {
 public:
  // `unavailable`: they are not a terminal.
  static Result<std::unique_ptr<Terminal>> open(const Look& look);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();  // restores the terminal

  ScreenSize size() const;
  // Sends what changed since the last call.
  void draw(Screen screen);
  // The next draw() sends everything, because another program has written to the screen.
  void forget() { shown_.clear(); }

  // Readable when there are keys.
  int file() const;
  // The keys that have come; does not wait. Check `gone()` afterwards: the terminal may be closed.
  std::vector<KeyPress> read_keys();
  bool waits_for_more() const { return keys_.waits(); }
  std::vector<KeyPress> give_up_waiting() { return keys_.give_up(); }
  bool gone() const { return gone_; }

  // Leaves the screen, stops the process as Ctrl-Z does, and returns when it continues.
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
