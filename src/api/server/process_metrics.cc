#include "api/server/process_metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

namespace millrace::api {
namespace {

// The number behind a field of /proc/self/status.
std::uint64_t number_after(std::string_view text, std::string_view field) {
  const std::size_t at = text.find(field);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + field.size());
  text.remove_prefix(std::min(text.find_first_of("0123456789"), text.size()));
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void read_status(ProcessMetrics& metrics) {
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::array<char, 4096> text{};
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  if (size <= 0) return;
  const std::string_view status(text.data(), static_cast<std::size_t>(size));
  constexpr std::uint64_t kib = 1024;
  metrics.resident_bytes = number_after(status, "\nVmRSS:") * kib;
  metrics.virtual_bytes = number_after(status, "\nVmSize:") * kib;
  metrics.threads = number_after(status, "\nThreads:");
}

std::uint64_t count_open_files() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return 0;
  std::uint64_t count = 0;
  while (const dirent* entry = ::readdir(directory)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(directory);
  return count - 1;  // without the directory's own
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

ProcessMetrics process_metrics() {
  ProcessMetrics metrics;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    metrics.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) metrics.most_open_files = limit.rlim_cur;
  read_status(metrics);
  metrics.open_files = count_open_files();
  return metrics;
}

}  // namespace millrace::api
