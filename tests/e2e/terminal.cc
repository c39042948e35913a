#include "tests/e2e/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/e2e/program.h"

namespace millrace::test {
namespace {

constexpr int patience_ms = 60'000;

}  // namespace

bool Terminal::installed() {
  return !shell_output("command -v tmux").empty();
}

std::string Terminal::tmux(const std::string& arguments) const {
  return shell_output(
      fmt::format("env -u TMUX -u NO_COLOR -u CLICOLOR_FORCE LC_ALL=C.UTF-8 "
                  "tmux -u -f /dev/null -S {} {} 2>&1",
                  directory_ / "tmux", arguments));
}

// The line waits for Enter, so that nothing it writes is missed. What is written comes through a
// pipe with a name.
Terminal::Terminal(const std::string& line, int columns, int rows) {
  const std::string fifo = directory_ / "fifo";
  if (mkfifo(fifo.c_str(), 0600) != 0) std::abort();
  pipe_ = open(fifo.c_str(), O_RDWR | O_CLOEXEC);
  if (pipe_ < 0) std::abort();
  write_file(directory_ / "line", fmt::format("read go\n{}\necho \"exit=$?.\"\nread end\n", line));
  tmux(fmt::format("new-session -d -x {} -y {} 'exec bash --norc {}'", columns, rows,
                   directory_ / "line"));
  tmux(fmt::format("pipe-pane -O 'exec cat > {}'", fifo));
  press("Enter");
}

Terminal::~Terminal() {
  tmux("kill-server");
  close(pipe_);
}

bool Terminal::read_more(int at_most_ms) {
  pollfd file{.fd = pipe_, .events = POLLIN, .revents = 0};
  if (poll(&file, 1, at_most_ms) <= 0) return false;
  char bytes[4096];
  const auto got = read(pipe_, bytes, sizeof(bytes));
  if (got <= 0) return false;
  written_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

bool Terminal::says(std::string_view text) {
  while (!written_.contains(text)) {
    if (!read_more(patience_ms)) return false;
  }
  return true;
}

bool Terminal::shows(const std::function<bool(const std::string& screen)>& good) {
  // What is written may be on its way to the screen still, so it is looked at again after a while.
  constexpr int look_again_ms = 200;
  for (int left = patience_ms; left > 0;) {
    if (good(screen())) return true;
    if (!read_more(look_again_ms)) left -= look_again_ms;
  }
  return false;
}

bool Terminal::shows(std::string_view text) {
  return shows([text](const std::string& screen) { return screen.contains(text); });
}

bool Terminal::hides(std::string_view text) {
  return shows([text](const std::string& screen) { return !screen.contains(text); });
}

void Terminal::resize(int columns, int rows) const {
  tmux(fmt::format("resize-window -x {} -y {}", columns, rows));
}

std::string Terminal::tells(const std::string& variable) const {
  std::string value = tmux(fmt::format("display-message -p '#{{{}}}'", variable));
  value.erase(value.find_last_not_of('\n') + 1);
  return value;
}

void Terminal::press(const std::string& keys) const {
  tmux("send-keys " + keys);
}

int Terminal::exit() {
  constexpr std::string_view mark = "exit=";
  if (!says(mark) || !written_.contains('.') || !says(".\r\n")) return -1;
  return std::atoi(written_.c_str() + written_.rfind(mark) + mark.size());
}

std::string Terminal::screen() const {
  std::string text = tmux("capture-pane -p");
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

}  // namespace millrace::test
