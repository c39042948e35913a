#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <iostream>
#include <memory>
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
#include "cli/host.h"
#include "config/find_file.h"
#include "core/clock.h"
#include "store/store.h"

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

class Process final : public millrace::cli::Host {
 public:
  Process(millrace::Clock& clock, bool colours) : clock_(clock), colours_(colours) {}

  millrace::Result<std::unique_ptr<millrace::Store>> open_store(
      const millrace::StoreUrl& url, millrace::Access access, const millrace::Progress& progress,
      const millrace::OpeningWarning& warn) override {
    return millrace::open_store(clock_, url, access, progress, warn);
  }
  millrace::Result<millrace::cli::Verified> verify(const millrace::StoreUrl& url,
                                                   const millrace::Progress& progress) override {
    return millrace::verify_store(url, progress);
  }
  millrace::Result<millrace::cli::Migrated> migrate(const millrace::StoreUrl& url,
                                                    bool apply) override {
    return millrace::migrate_store(url, apply);
  }
  millrace::cli::Exit serve(const millrace::config::Config& config) override {
    return millrace::serve(config,
                           {.clock = clock_, .version = MILLRACE_VERSION, .colours = colours_});
  }
  millrace::cli::Exit work(const millrace::cli::WorkerProgram& program) override {
    return millrace::work(program,
                          {.clock = clock_, .version = MILLRACE_VERSION, .colours = colours_});
  }

  std::size_t columns() override {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  }
  bool out_gone() override {
    pollfd file{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
    return poll(&file, 1, 0) == 1 && (file.revents & (POLLERR | POLLHUP)) != 0;
  }
  bool in_waits() override {
    struct stat file{};
    if (fstat(STDIN_FILENO, &file) != 0) return false;
    if (S_ISREG(file.st_mode)) return lseek(STDIN_FILENO, 0, SEEK_CUR) < file.st_size;
    int bytes = 0;
    return S_ISFIFO(file.st_mode) && ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
  }

 private:
  millrace::Clock& clock_;
  const bool colours_;  // on standard error
};

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  millrace::SystemClock clock;
  const auto variables = environment();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const bool out_terminal = isatty(STDOUT_FILENO) != 0;
  const auto places = millrace::config::usual_places();
  const bool colours = millrace::cli::wants_colours(variables, terminal);
  Process process(clock, colours);
  millrace::cli::Surroundings with{
      .in = std::cin,
      .out = std::cout,
      .err = std::cerr,
      .terminal = terminal,
      .colours = colours,
      .out_terminal = out_terminal,
      .out_colours = millrace::cli::wants_colours(variables, out_terminal),
      .in_terminal = isatty(STDIN_FILENO) != 0,
      .clock = clock,
      .host = process,
      .version = MILLRACE_VERSION,
      .environment = variables,
      .config_places = {places.begin(), places.end()}};
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(millrace::cli::run(arguments, with));
}
