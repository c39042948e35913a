#include "cli/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

namespace millrace::cli {
namespace {

constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view leave_screen = "\x1b[?7h\x1b[?25h\x1b[0m\x1b[?1049l";

// What must be restored, where a signal handler finds it.
std::atomic<bool> entered = false;
termios before{};

// Uses only calls that a signal handler may make.
void restore() {
  if (!entered.exchange(false)) return;
  [[maybe_unused]] const auto written =
      write(STDOUT_FILENO, leave_screen.data(), leave_screen.size());
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

bool enter() {
  if (tcgetattr(STDIN_FILENO, &before) != 0) return false;
  termios raw = before;
  raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  entered = true;
  return tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) == 0;
}

// Signals that end the process here; after others the destructor runs.
constexpr std::array deadly = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSYS, SIGTRAP};

extern "C" void restore_and_die(int number) {
  restore();
  raise(number);  // the default action: the handler was installed for one time
}

void catch_deadly(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int number : deadly) sigaction(number, &action, nullptr);
}

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open(const Look& look) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    return fail(ErrorCode::unavailable, "standard input and output are not a terminal");
  }
  if (!enter()) {
    const int error = errno;
    restore();
    return fail(ErrorCode::unavailable,
                "the terminal cannot be set up: " + std::generic_category().message(error));
  }
  catch_deadly(restore_and_die);
  std::unique_ptr<Terminal> terminal(new Terminal(look));
  terminal->write_all(enter_screen);
  return terminal;
}

Terminal::~Terminal() {
  restore();
  catch_deadly(SIG_DFL);
}

ScreenSize Terminal::size() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {.columns = size.ws_col, .rows = size.ws_row};
}

void Terminal::draw(Screen screen) {
  const ScreenSize now = size();
  // A terminal may have rearranged the old lines for its new size.
  if (now != drawn_size_) forget();
  drawn_size_ = now;
  look_.width = now.columns;
  write_all(redraw(shown_, screen, look_));
  shown_ = std::move(screen);
}

int Terminal::file() const {
  return STDIN_FILENO;
}

std::vector<KeyPress> Terminal::read_keys() {
  std::array<char, 256> bytes;
  pollfd file{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (poll(&file, 1, 0) <= 0) return {};
  const auto got = read(STDIN_FILENO, bytes.data(), bytes.size());
  // Readable but empty: the terminal is closed.
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) gone_ = true;
  if (got <= 0) return {};
  return keys_.read({bytes.data(), static_cast<std::size_t>(got)});
}

void Terminal::suspend() {
  restore();
  raise(SIGTSTP);
  gone_ = gone_ || !enter();
  write_all(enter_screen);
  forget();
}

void Terminal::write_all(std::string_view bytes) {
  while (!bytes.empty() && !gone_) {
    const auto written = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd file{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
      poll(&file, 1, -1);
    } else if (errno != EINTR) {
      gone_ = true;
    }
  }
}

}  // namespace millrace::cli
