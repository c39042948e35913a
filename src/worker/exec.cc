#include "worker/exec.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>

#include "core/ascii.h"
#include "core/base64.h"
#include "core/clip.h"
#include "core/time_text.h"
#include "core/utf8.h"
#include "core/uuid.h"
#include "worker/child_process.h"
#include "worker/run.h"

namespace millrace::worker {
namespace {

constexpr std::size_t most_errors = limits::max_error_text;
constexpr std::size_t most_line = limits::max_log_line;
constexpr std::size_t most_in_message = 500;
// How long output is still read after the command has ended: its children may go on writing.
constexpr Duration last_words{100};
constexpr Duration look_again{20};  // where the system cannot tell that a process has ended

// A write to a command that does not read must be an error and must not end this process.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
  ~WithoutSigpipe() {
    const struct timespec at_once = {};
    if (!was_pending_) {
      while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) continue;
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_ = {};
  sigset_t before_ = {};
  bool was_pending_ = false;
};

// "@progress 42", "@progress 42.5 %"
std::optional<double> progress_in(std::string_view line) {
  constexpr std::string_view word = "@progress ";
  if (!line.starts_with(word)) return std::nullopt;
  line.remove_prefix(word.size());
  while (line.ends_with(' ') || line.ends_with('%')) line.remove_suffix(1);
  double percent = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), percent);
  const bool good = error == std::errc() && end == line.data() + line.size();
  if (!good || !(percent >= 0 && percent <= 100)) return std::nullopt;
  return percent;
}

// Standard error, cut into lines.
class Errors {
 public:
  explicit Errors(const ExecEvents& events) : events_(events) {}

  void add(std::string_view text) {
    tail_ += text;
    if (tail_.size() > 2 * most_errors) tail_.erase(0, tail_.size() - most_errors);
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view part = text.substr(0, end);
      // Only the beginning of a very long line is kept.
      line_ += part.substr(0, most_line - std::min(most_line, line_.size()));
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + 1);
      tell();
    }
  }
  std::string finish() {
    if (!line_.empty()) tell();
    if (tail_.size() > most_errors) tail_.erase(0, tail_.size() - most_errors);
    return std::move(tail_);
  }

 private:
  void tell() {
    std::string line = std::exchange(line_, {});
    if (line.ends_with('\r')) line.pop_back();
    if (const auto percent = progress_in(line)) {
      if (events_.progress) events_.progress(*percent);
    } else if (events_.log && !line.empty()) {
      events_.log(std::move(line));
    }
  }

  const ExecEvents& events_;
  std::string line_;
  std::string tail_;
};

// One running command, until everything about its end is known.
class Running {
 public:
  Running(Clock& clock, const ExecOptions& options, const ExecInput& input,
          const ExecEvents& events, ChildProcess process)
      : clock_(clock),
        options_(options),
        rest_(input.payload),
        errors_(events),
        process_(std::move(process)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ExecEnd run(const std::stop_token& stop) {
    const WithoutSigpipe quiet;
    const std::stop_callback on_stop(stop, [this] { eventfd_write(wake_.number(), 1); });
    write_some();
    while (!is_over()) {
      wait();
      if (stop.stop_requested()) ask_to_end(ExecEnd::Kind::stopped);
      if (clock_.steady() >= kill_at_) process_.signal(SIGKILL);
      write_some();
      read_all();
      if (ended_at_ == no_moment && process_.has_ended()) ended_at_ = clock_.steady();
    }
    read_all();
    return finish();
  }

 private:
  // Whether the command has ended and its output is closed, or the time for last output is over.
  bool is_over() const {
    if (ended_at_ == no_moment) return false;
    const bool silent = !process_.out.open() && !process_.err.open();
    return silent || clock_.steady() >= ended_at_ + last_words;
  }

  void ask_to_end(ExecEnd::Kind why) {
    if (why_ || ended_at_ != no_moment) return;
    why_ = why;
    kill_at_ = clock_.steady() + options_.grace;
    process_.signal(SIGTERM);
  }

  void wait() {
    std::array<pollfd, 5> files = {
        {{process_.in.number(), POLLOUT, 0},
         {process_.out.number(), POLLIN, 0},
         {process_.err.number(), POLLIN, 0},
         {why_ ? -1 : wake_.number(), POLLIN, 0},
         {ended_at_ == no_moment ? process_.ended_descriptor() : -1, POLLIN, 0}}};
    Moment next = ended_at_ != no_moment ? ended_at_ + last_words : kill_at_;
    const Moment now = clock_.steady();
    if (next != no_moment && next <= now) next = now + look_again;  // killed, but not gone yet
    if (process_.ended_descriptor() < 0) next = std::min(next, now + look_again);
    const int limit =
        next == no_moment
            ? -1
            : static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(next - now).count());
    poll(files.data(), files.size(), limit);
  }

  // A command need not read its input.
  void write_some() {
    while (process_.in.open()) {
      if (rest_.empty()) return process_.in.close();
      const ssize_t written = write(process_.in.number(), rest_.data(), rest_.size());
      if (written > 0) {
        rest_.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno == EAGAIN) {
        return;
      } else if (errno != EINTR) {
        return process_.in.close();
      }
    }
  }

  void read_all() {
    read_from(process_.out, [this](std::string_view text) {
      if (output_.size() <= options_.most_output) output_ += text;
      if (output_.size() <= options_.most_output + 1) return;
      ask_to_end(ExecEnd::Kind::flooded);
      kill_at_ = Moment::min();  // it will not listen
    });
    read_from(process_.err, [this](std::string_view text) { errors_.add(text); });
  }

  // Reads at most this much per turn, so that a command that writes without end does not block the
  // rest.
  template <class Take>
  void read_from(Descriptor& from, const Take& take) {
    std::array<char, 16 * limits::kib> buffer;
    for (int turn = 0; turn < 16 && from.open(); ++turn) {
      const ssize_t count = read(from.number(), buffer.data(), buffer.size());
      if (count > 0) {
        take(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
      } else if (count == 0) {
        from.close();
      } else if (errno == EAGAIN) {
        return;
      } else if (errno != EINTR) {
        from.close();
      }
    }
  }

  ExecEnd finish() {
    const int status = process_.reap();
    ExecEnd end{.output = std::move(output_), .errors = errors_.finish()};
    if (is_utf8(end.output) && end.output.ends_with('\n')) {
      end.output.pop_back();
      if (end.output.ends_with('\r')) end.output.pop_back();
    }
    const bool killed = WIFSIGNALED(status);
    end.number = killed ? WTERMSIG(status) : WEXITSTATUS(status);
    if (end.output.size() > options_.most_output) why_ = why_.value_or(ExecEnd::Kind::flooded);
    end.kind = why_.value_or(killed ? ExecEnd::Kind::signalled : ExecEnd::Kind::exited);
    return end;
  }

  Clock& clock_;
  const ExecOptions& options_;
  std::string_view rest_;  // of the payload
  std::string output_;
  Errors errors_;
  ChildProcess process_;
  Descriptor wake_;
  std::optional<ExecEnd::Kind> why_;  // set: the command is to end
  Moment kill_at_ = no_moment;
  Moment ended_at_ = no_moment;
};

bool is_wrong_forever(int code) {
  return code == 64 || code == 65 || code == 78;  // EX_USAGE, EX_DATAERR, EX_CONFIG
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  if (name == nullptr) return fmt::format("{}", number);
  return ascii::lower(name);
}

// The last line of standard error, which usually says what went wrong.
std::string last_line(std::string_view errors) {
  while (!errors.empty() &&
         (errors.back() == '\n' || errors.back() == '\r' || errors.back() == ' ')) {
    errors.remove_suffix(1);
  }
  const std::size_t before = errors.rfind('\n');
  if (before != std::string_view::npos) errors.remove_prefix(before + 1);
  return clip(std::string(errors), most_in_message);
}

// Text as it is. Other bytes, which a variable cannot hold or a program cannot read, are base64,
// under a name that says so.
void add_bytes(Variables& variables, const std::string& name, const std::string& bytes) {
  if (is_utf8(bytes) && !bytes.contains('\0')) {
    variables.emplace_back(name, bytes);
  } else {
    variables.emplace_back(name + "_BASE64", base64_encode(bytes));
  }
}

}  // namespace

std::string find_program(const std::string& name, const std::vector<std::string>& environment) {
  if (name.contains('/')) return name;
  std::string_view path = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& each : environment) {
    if (each.starts_with("PATH=")) path = std::string_view(each).substr(5);
  }
  while (!path.empty()) {
    const std::size_t colon = std::min(path.find(':'), path.size());
    const std::string file = fmt::format("{}/{}", path.substr(0, colon), name);
    if (access(file.c_str(), X_OK) == 0) return file;
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return {};
}

ExecEnd run_command(Clock& clock, const ExecOptions& options, const ExecInput& input,
                    const std::stop_token& stop, const ExecEvents& events) {
  const auto missing = [](std::string why) {
    return ExecEnd{.kind = ExecEnd::Kind::missing, .message = std::move(why)};
  };
  if (options.argv.empty() || options.argv[0].empty()) return missing("no command is given");
  ChildProcessPlan plan{
      .arguments = options.argv,
      .environment = environment_of(environ, options.environment, input.environment),
      .directory = options.directory,
      .memory = options.memory};
  plan.program = find_program(options.argv[0], plan.environment);
  if (plan.program.empty()) {
    return missing(fmt::format("command {} was not found; give its path, or a program of the PATH",
                               options.argv[0]));
  }
  auto process = ChildProcess::start(plan);
  if (process) {
    return Running(clock, options, input, events, std::move(*process)).run(stop);
  }
  if (process.error().code != ErrorCode::unavailable) return missing(process.error().message);
  return {.kind = ExecEnd::Kind::unstarted, .message = process.error().message};
}

Outcome outcome_of(ExecEnd end, const ExecOptions& options) {
  TaskError error{.details = clip(std::move(end.errors), limits::max_error_text)};
  const std::string said = last_line(error.details);
  switch (end.kind) {
    case ExecEnd::Kind::missing:
      error.code = "command_not_found";
      error.message = std::move(end.message);
      return Failed{.error = std::move(error), .retryable = false};
    case ExecEnd::Kind::unstarted:
      error.code = "exec_error";
      error.message = std::move(end.message);
      return Failed{.error = std::move(error), .retryable = true};
    case ExecEnd::Kind::flooded:
      error.code = "output_too_large";
      error.message = fmt::format("the command wrote more than {} bytes to its standard output",
                                  options.most_output);
      return Failed{.error = std::move(error), .retryable = false};
    case ExecEnd::Kind::stopped:
      return GiveBack{};
    case ExecEnd::Kind::signalled: {
      error.code = fmt::format("signal_{}", signal_name(end.number));
      error.message = fmt::format("killed by signal {}", end.number);
      if (end.number == SIGKILL) error.message += " (out of memory?)";
      if (options.memory != 0) {
        error.message += fmt::format("; it may use {} MiB", options.memory / limits::mib);
      }
      if (!said.empty()) error.message += ": " + said;
      return Failed{.error = std::move(error)};
    }
    case ExecEnd::Kind::exited:
      break;
  }
  if (end.number == 0) return Done{.result = std::move(end.output)};
  error.code = fmt::format("exit_{}", end.number);
  error.message = said.empty() ? fmt::format("exit code {}", end.number) : said;
  if (end.number == 75) return Failed{.error = std::move(error), .retryable = true};
  if (is_wrong_forever(end.number)) return Failed{.error = std::move(error), .retryable = false};
  return Failed{.error = std::move(error)};
}

Variables variables_of(const Lease& task, std::uint32_t attempt,
                       std::optional<TimePoint> deadline) {
  Variables variables = {
      {"MILLRACE_TASK_ID", to_text(task.id.value)},
      {"MILLRACE_QUEUE", task.queue},
      {"MILLRACE_TYPE", task.type},
      {"MILLRACE_ATTEMPT", fmt::format("{}", attempt)},
      {"MILLRACE_CONTENT_TYPE", task.content_type.empty() ? "application/json" : task.content_type},
      {"MILLRACE_CREATED_AT", format_time(task.created_at)}};
  if (deadline) variables.emplace_back("MILLRACE_DEADLINE", format_time(*deadline));
  if (!task.client_id.empty()) variables.emplace_back("MILLRACE_CLIENT_ID", task.client_id);
  if (!task.request_id.empty()) variables.emplace_back("MILLRACE_REQUEST_ID", task.request_id);
  if (!task.checkpoint.empty()) add_bytes(variables, "MILLRACE_CHECKPOINT", task.checkpoint);
  if (task.answer) add_bytes(variables, "MILLRACE_ANSWER", *task.answer);
  return variables;
}

// Settings of the server are in variables of this name, and some of them are secrets, so they are
// not passed on.
std::vector<std::string> environment_of(char* const* inherited, const Variables& own,
                                        const Variables& task) {
  std::map<std::string, std::string> all;
  for (; inherited != nullptr && *inherited != nullptr; ++inherited) {
    const std::string_view each = *inherited;
    const std::size_t equals = each.find('=');
    if (equals == std::string_view::npos || each.starts_with("MILLRACE_")) continue;
    all[std::string(each.substr(0, equals))] = each.substr(equals + 1);
  }
  for (const Variables* variables : {&own, &task}) {
    for (const auto& [name, value] : *variables) {
      // A zero byte ends the value for every program.
      all[name] = value.substr(0, value.find('\0'));
    }
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : all) environment.push_back(fmt::format("{}={}", name, value));
  return environment;
}

}  // namespace millrace::worker
