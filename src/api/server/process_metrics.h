// What the system knows of this process, under the names that Prometheus' own clients use.
#pragma once

#include <cstdint>

namespace millrace::api {

struct ProcessMetrics {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t most_open_files = 0;
  std::uint64_t threads = 0;
};

// Values that are not available are 0.
ProcessMetrics process_metrics();

}  // namespace millrace::api
