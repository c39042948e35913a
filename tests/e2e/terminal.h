// A real pseudo-terminal with a program in it, by tmux.
#pragma once

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
  // "y", "Enter", "C-c".
  void press(const std::string& keys) const;
  // Waits for the end of the line; its exit code.
  int exit();
  // What the terminal shows, without colours.
  std::string screen() const;
  // Every byte that was written so far, colours and all.
  const std::string& written() const { return written_; }

 private:
  std::string tmux(const std::string& arguments) const;

  TemporaryDirectory directory_;
  int pipe_ = -1;
  std::string written_;
};

}  // namespace millrace::test
