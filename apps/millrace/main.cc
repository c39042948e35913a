#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/stores.h"
#include "apps/millrace/migrate.h"
#include "apps/millrace/serve.h"
#include "apps/millrace/verify.h"
#include "apps/millrace/work.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "config/find_file.h"
#include "core/clock.h"

namespace {

std::vector<std::pair<std::string, std::string>> environment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::size_t equals = text.find('=');
    if (equals != text.npos)
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

// The width of the terminal on standard output; 0: it is not a terminal.
std::size_t columns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Whether the reader of standard output has closed it.
bool out_gone() {
  pollfd file{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&file, 1, 0) == 1 && (file.revents & (POLLERR | POLLHUP)) != 0;
}

// Whether standard input, a pipe or a file, has data now; does not wait.
bool in_waits() {
  struct stat file{};
  if (fstat(STDIN_FILENO, &file) != 0) return false;
  if (S_ISREG(file.st_mode)) return lseek(STDIN_FILENO, 0, SEEK_CUR) < file.st_size;
  int bytes = 0;
  return S_ISFIFO(file.st_mode) && ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  millrace::SystemClock clock;
  const auto variables = environment();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const bool out_terminal = isatty(STDOUT_FILENO) != 0;
  const auto places = millrace::config::usual_places();
  millrace::cli::Surroundings with{
      .in = std::cin,
      .out = std::cout,
      .err = std::cerr,
      .terminal = terminal,
      .colours = millrace::cli::wants_colours(variables, terminal),
      .clock = clock,
      .version = MILLRACE_VERSION,
      .open_store =
          [&clock](const millrace::StoreUrl& url, millrace::Access access,
                   const millrace::Progress& progress, const millrace::OpeningWarning& warn) {
            return millrace::open_store(clock, url, access, progress, warn);
          },
      .verify = millrace::verify_store,
      .migrate = millrace::migrate_store,
      .environment = variables,
      .config_places = {places.begin(), places.end()},
      .out_terminal = out_terminal,
      .out_colours = millrace::cli::wants_colours(variables, out_terminal),
      .columns = columns,
      .in_terminal = isatty(STDIN_FILENO) != 0,
      .out_gone = out_gone,
      .in_waits = in_waits};
  with.serve = [&](const millrace::config::Config& config) {
    return millrace::serve(config,
                           {.clock = clock, .version = with.version, .colours = with.colours});
  };
  with.work = [&](const millrace::cli::WorkerProgram& program) {
    return millrace::work(program,
                          {.clock = clock, .version = with.version, .colours = with.colours});
  };
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(millrace::cli::run(arguments, with));
}
