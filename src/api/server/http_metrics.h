// How many requests were answered, by operation and status, and how long that took. Any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "api/server/route.h"
#include "core/metrics.h"

namespace millrace::api {

class HttpMetrics {
 public:
  HttpMetrics();

  // `route` is nullptr if the request has none.
  void answered(const Route* route, unsigned status, std::chrono::nanoseconds took);
  // Counts a request that may have waited for work: its duration says nothing about the server.
  void waited(const Route* route);

  // Only what was answered at least once.
  struct Latency {
    std::string_view operation = {};
    std::string_view status = {};  // 2xx
    HistogramSnapshot seconds = {};
  };
  std::vector<Latency> latencies() const;
  struct Waits {
    std::string_view operation = {};
    std::uint64_t count = 0;
  };
  std::vector<Waits> waits() const;

 private:
  static constexpr std::size_t classes = 4;  // 2xx to 5xx
  struct Of {
    std::array<std::unique_ptr<Histogram>, classes> latencies = {};
    Counter waits;
  };

  static std::size_t place_of(const Route* route);
  static std::string_view operation_at(std::size_t place);

  std::vector<Of> all_;  // one per route, and one for requests without a route
};

}  // namespace millrace::api
