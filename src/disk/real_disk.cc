#include "disk/real_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace millrace {
namespace {

constexpr const char* lock_name = "lock";

std::string reason(int error) {
  return std::generic_category().message(error);
}

ErrorCode code_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::limited;
    case ENOENT:
      return ErrorCode::not_found;
    case EEXIST:
      return ErrorCode::conflict;
    default:
      return ErrorCode::unavailable;
  }
}

// Repeats a call that a signal interrupted.
auto again(const auto& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Payloads and results must not be readable by other users.
constexpr mode_t file_mode = 0600;
constexpr mode_t directory_mode = 0700;

// A file that an administrator creates in the directory of a service must be usable by the service.
// If the system does not allow the change of owner, the error of a later open names the owner.
void give_to_owner_of(int directory, int file) {
  if (geteuid() != 0) return;
  struct stat status{};
  if (fstat(directory, &status) != 0 || status.st_uid == 0) return;
  static_cast<void>(!fchown(file, status.st_uid, status.st_gid));
}

// For messages: a file that cannot be opened usually belongs to another user.
std::string whose(const std::string& path, int error) {
  struct stat status{};
  if (error != EACCES && error != EPERM) return "";
  if (stat(path.c_str(), &status) != 0) return "";
  return fmt::format(" (it belongs to the user {}; this process runs as {})", status.st_uid,
                     geteuid());
}

// Creates the last part of the path only.
Result<void> make_directory(const std::string& path) {
  std::filesystem::path whole(path);
  if (!whole.has_filename()) whole = whole.parent_path();  // a/b/
  const auto parent = whole.has_parent_path() ? whole.parent_path() : std::filesystem::path(".");
  const auto refuse = [&](int error) {
    return fail(code_of(error), fmt::format("{}: cannot make the directory: {}{}", path,
                                            reason(error), whose(parent.string(), error)));
  };
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return refuse(error.value());
  if (mkdir(whole.c_str(), directory_mode) != 0) {
    if (errno == EEXIST) return {};  // if it is not a directory, opening it will fail
    return refuse(errno);
  }
  const int above = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int made = ::open(whole.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (above >= 0 && made >= 0) give_to_owner_of(above, made);
  if (above >= 0) ::close(above);
  if (made >= 0) ::close(made);
  return {};
}

int number(Disk::File file) {
  return static_cast<int>(file);
}

class RealDisk final : public Disk {
 public:
  RealDisk(std::string path, int directory) : path_(std::move(path)), directory_(directory) {}
  RealDisk(const RealDisk&) = delete;
  RealDisk& operator=(const RealDisk&) = delete;
  ~RealDisk() override {
    if (lock_ >= 0) ::close(lock_);
    ::close(directory_);
  }

  std::string path() const override { return path_; }

  Result<void> lock(bool shared) override {
    lock_ = openat(directory_, lock_name,
                   shared ? O_RDONLY | O_CLOEXEC : O_RDWR | O_CREAT | O_CLOEXEC, file_mode);
    // A reader needs no lock where no store was ever written.
    if (lock_ < 0 && shared && errno == ENOENT) return {};
    if (lock_ < 0) return failed("cannot open", lock_name);
    if (!shared) give_to_owner_of(directory_, lock_);
    if (again([&] { return flock(lock_, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB); }) == 0) {
      if (shared) return {};
      auto noted = note_owner();
      // A full disk keeps no process out.
      return !noted && noted.error().code == ErrorCode::limited ? Result<void>{} : noted;
    }
    const int error = errno;
    const std::string owner = owner_text();
    ::close(lock_);
    lock_ = -1;
    if (error == EWOULDBLOCK) {
      return fail(ErrorCode::conflict,
                  fmt::format("{} is in use by another process{}; stop it first", path_, owner));
    }
    errno = error;
    return failed("cannot lock", lock_name);
  }

  Result<std::vector<Entry>> list() override {
    // Each list opens a directory stream of its own, because a stream can be read only once.
    const int copy = openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = copy < 0 ? nullptr : fdopendir(copy);
    if (stream == nullptr) return failed("cannot list", "");
    std::vector<Entry> entries;
    errno = 0;
    while (const dirent* entry = readdir(stream)) {
      struct stat status{};
      if (fstatat(directory_, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        errno = 0;  // removed in the meantime
        continue;
      }
      if (S_ISREG(status.st_mode)) {
        entries.push_back({entry->d_name, static_cast<std::uint64_t>(status.st_size)});
      }
    }
    const int error = errno;
    closedir(stream);
    if (error == 0) return entries;
    errno = error;
    return failed("cannot list", "");
  }

  Result<File> open(std::string_view name, Access access) override {
    int flags = O_CLOEXEC | (access == Access::read ? O_RDONLY : O_RDWR);
    if (access == Access::create) flags |= O_CREAT | O_EXCL;
    const int file =
        again([&] { return openat(directory_, std::string(name).c_str(), flags, file_mode); });
    if (file < 0) return failed("cannot open", name);
    if (access == Access::create) give_to_owner_of(directory_, file);
    return File{file};
  }

  void close(File file) override { ::close(number(file)); }

  Result<void> allocate(File file, std::uint64_t size) override {
    const int error = posix_fallocate(number(file), 0, static_cast<off_t>(size));
    if (error == 0) return {};
    errno = error;
    return failed(fmt::format("cannot allocate {} bytes", size), "");
  }

  Result<void> write(File file, std::uint64_t offset, std::string_view bytes) override {
    while (!bytes.empty()) {
      const auto done = again([&] {
        return pwrite(number(file), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      });
      if (done < 0) return failed("cannot write", "");
      bytes.remove_prefix(static_cast<std::size_t>(done));
      offset += static_cast<std::uint64_t>(done);
    }
    return {};
  }

  Result<std::size_t> read(File file, std::uint64_t offset, std::span<char> into) override {
    const auto got = again(
        [&] { return pread(number(file), into.data(), into.size(), static_cast<off_t>(offset)); });
    if (got < 0) return failed("cannot read", "");
    return static_cast<std::size_t>(got);
  }

  Result<void> sync(File file) override {
    if (again([&] { return fdatasync(number(file)); }) == 0) return {};
    return failed("cannot sync a file", "");
  }

  void begin_sync(File file) override {
    static_cast<void>(sync_file_range(number(file), 0, 0, SYNC_FILE_RANGE_WRITE));
  }

  Result<void> sync_directory() override {
    if (again([&] { return fsync(directory_); }) == 0) return {};
    return failed("cannot sync the directory", "");
  }

  Result<void> rename(std::string_view from, std::string_view to) override {
    const std::string source(from);
    const std::string target(to);
    if (renameat(directory_, source.c_str(), directory_, target.c_str()) == 0) return {};
    return failed(fmt::format("cannot rename to {}", to), from);
  }

  Result<void> remove(std::string_view name) override {
    if (unlinkat(directory_, std::string(name).c_str(), 0) == 0) return {};
    return failed("cannot remove", name);
  }

 private:
  // The error for a call that the system has just refused.
  std::unexpected<Error> failed(std::string_view what, std::string_view name) const {
    const int error = errno;
    const auto where = name.empty() ? path_ : fmt::format("{}/{}", path_, name);
    return fail(code_of(error),
                fmt::format("{}: {}: {}{}", where, what, reason(error), whose(where, error)));
  }

  // The lock file names its owner for people; the lock itself is the system's.
  Result<void> note_owner() {
    const std::string text = fmt::format("{}\n", getpid());
    if (ftruncate(lock_, 0) != 0) return failed("cannot write", lock_name);
    return write(File{lock_}, 0, text);
  }

  std::string owner_text() {
    std::string text(20, '\0');
    const auto got = read(File{lock_}, 0, text);
    text.resize(got.value_or(0));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.empty() ? "" : fmt::format(" (process {})", text);
  }

  std::string path_;
  int directory_;
  int lock_ = -1;
};

}  // namespace

Result<std::unique_ptr<Disk>> open_directory(const std::string& path, DirectoryMode mode) {
  if (mode == DirectoryMode::make) {
    if (auto made = make_directory(path); !made) return std::unexpected(std::move(made.error()));
  }
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    const int error = errno;
    return fail(code_of(error), fmt::format("{}: cannot open the directory: {}{}", path,
                                            reason(error), whose(path, error)));
  }
  return std::make_unique<RealDisk>(path, directory);
}

}  // namespace millrace
