// How commands talk to the user, on standard error.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cli.h"
#include "core/clock.h"

namespace millrace::cli {

class Console {
 public:
  explicit Console(const Surroundings& with)
      : err_(with.err), terminal_(with.terminal), colours_(with.colours), clock_(with.clock) {}

  void say(std::string_view text);   // what happened
  void warn(std::string_view text);  // what the user should look at

  // "error: ..." and the exit code that fits.
  Exit fail(const Error& error);
  Exit fail(const Error& error, std::string_view what_to_do);

  // Asks until it is answered yes or no; an end of input is a no.
  bool asks(std::string_view question, std::istream& in);

  // Shows the progress of `what`, at most ten times per second; a total of 0 is unknown. The next
  // output replaces it.
  void progress(std::string_view what, std::uint64_t done, std::uint64_t total);

 private:
  void clear_progress();
  // Made printable: most messages contain text from outside.
  std::string shown(std::string_view text) const;
  std::string painted(std::string_view text, std::string_view colour) const;

  std::ostream& err_;
  const bool terminal_;
  const bool colours_;
  Clock& clock_;
  std::int64_t shown_at_ = -1;  // steady milliseconds
  bool shown_ = false;
};

// Whether NO_COLOR, CLICOLOR_FORCE and TERM allow colours on such a stream.
bool wants_colours(const std::vector<std::pair<std::string, std::string>>& environment,
                   bool terminal);

// 1,234,567
std::string grouped(std::uint64_t number);

// "1 task", "2 tasks", "no tasks"
std::string counted(std::uint64_t number, std::string_view one, std::string_view many);

}  // namespace millrace::cli
