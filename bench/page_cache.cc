#include "bench/page_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace millrace::bench {

void drop_page_cache(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code ended;  // files come and go while servers run
  for (fs::recursive_directory_iterator at(directory, ended); !ended && at != fs::end(at);
       at.increment(ended)) {
    std::error_code gone;
    if (!at->is_regular_file(gone)) continue;
    const int file = open(at->path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    // The system can forget only clean pages.
    fdatasync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
  }
}

}  // namespace millrace::bench
