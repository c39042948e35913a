// A real pseudo-terminal with a program in it, by tmux.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tests/support/temporary_directory.h"

namespace millrace::test {

class Terminal {
 public:
  // Starts `line` in a shell. There must be a tmux: installed().
  Terminal(const std::string& line, int columns, int rows);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();  // whatever runs there is killed

  static bool installed();

  // Reads what is written to the terminal until `text` comes; false: nothing comes for a minute.
  bool says(std::string_view text);
  // Looks at the screen whenever something is written until `good` says yes; false: it does not
  // within a minute.
  bool shows(const std::function<bool(const std::string& screen)>& good);
  bool shows(std::string_view text);
  bool hides(std::string_view text);
  void resize(int columns, int rows) const;
  // A variable of tmux: alternate_on, cursor_flag.
  std::string tells(const std::string& variable) const;
  // "y", "Enter", "C-c".
  void press(const std::string& keys) const;
  // Waits for the end of the line; its exit code.
  int exit();
  // What the terminal shows, without colours.
  std::string screen() const;
  // Every byte that was written so far, colours and all.
  const std::string& written() const { return written_; }

 private:
  bool read_more(int at_most_ms);
  std::string tmux(const std::string& arguments) const;

  TemporaryDirectory directory_;
  int pipe_ = -1;
  std::string written_;
};

}  // namespace millrace::test
