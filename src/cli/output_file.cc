#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>

namespace millrace::cli {
namespace {

std::unexpected<Error> failed(std::string_view what, const std::string& path) {
  return fail(ErrorCode::unavailable,
              fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(errno)));
}

Result<void> sync(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return failed("open", path);
  const int synced = fsync(file);
  const int error = errno;
  ::close(file);
  errno = error;
  return synced == 0 ? Result<void>{} : failed("sync", path);
}

// ---- Ctrl-C ----

// The unfinished file, for the signal handler; one per process.
char unfinished_name[PATH_MAX] = {};

extern "C" void remove_and_end(int number) {
  unlink(unfinished_name);
  signal(number, SIG_DFL);
  raise(number);
}

// If a signal ends the process, the file is removed. A program that handles signals itself destroys
// the object.
void remove_on_signals(const std::string& path) {
  if (path.size() >= sizeof(unfinished_name)) return;
  path.copy(unfinished_name, path.size());
  unfinished_name[path.size()] = 0;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now{};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
      signal(number, remove_and_end);
    }
  }
}

void keep_on_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now{};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == remove_and_end) {
      signal(number, SIG_DFL);
    }
  }
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), beside_(path_ + ".part") {}

OutputFile::~OutputFile() {
  if (!unfinished_) return;
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(beside_, ignored);
  keep_on_signals();
}

Result<void> OutputFile::open(bool replace, Readers readers) {
  std::error_code ignored;
  if (!replace && std::filesystem::exists(path_, ignored)) {
    return fail(ErrorCode::conflict, fmt::format("{} exists already; --force replaces it", path_));
  }
  remove_on_signals(beside_);
  // A file left by an interrupted run may be readable by more users.
  const mode_t mode = readers == Readers::all ? 0644 : 0600;
  const int made = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (made < 0) return failed("write", beside_);
  const bool guarded = readers == Readers::all || fchmod(made, mode) == 0;
  ::close(made);
  if (!guarded) return failed("write", beside_);
  stream_.open(beside_, std::ios::binary | std::ios::trunc);
  if (!stream_) {
    auto error = failed("write", beside_);
    keep_on_signals();
    return error;
  }
  unfinished_ = true;
  return {};
}

Result<void> OutputFile::finish() {
  stream_.close();
  if (!stream_) return failed("write", beside_);
  if (auto done = sync(beside_, O_RDONLY); !done) return done;
  if (std::rename(beside_.c_str(), path_.c_str()) != 0) return failed("rename", beside_);
  unfinished_ = false;
  keep_on_signals();
  const auto folder = std::filesystem::path(path_).parent_path().string();
  return sync(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

}  // namespace millrace::cli
