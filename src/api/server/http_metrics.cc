#include "api/server/http_metrics.h"

#include <algorithm>

namespace millrace::api {
namespace {

// Seconds: from an answer out of memory to one that waited for a slow disk.
constexpr std::array<double, 13> bounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                           0.1,    0.25,  0.5,    1,     2.5,  10};

constexpr std::array<std::string_view, 4> class_names = {"2xx", "3xx", "4xx", "5xx"};

}  // namespace

HttpMetrics::HttpMetrics() : all_(routes().size() + 1) {
  for (Of& of : all_) {
    for (auto& latency : of.latencies) latency = std::make_unique<Histogram>(bounds);
  }
}

std::size_t HttpMetrics::place_of(const Route* route) {
  return route == nullptr ? routes().size() : static_cast<std::size_t>(route - routes().data());
}

std::string_view HttpMetrics::operation_at(std::size_t place) {
  return place < routes().size() ? routes()[place].operation : "none";
}

void HttpMetrics::answered(const Route* route, unsigned status, std::chrono::nanoseconds took) {
  const std::size_t of = std::clamp(status / 100, 2U, 5U) - 2;
  all_[place_of(route)].latencies[of]->observe(std::chrono::duration<double>(took).count());
}

void HttpMetrics::waited(const Route* route) {
  all_[place_of(route)].waits.add();
}

std::vector<HttpMetrics::Latency> HttpMetrics::latencies() const {
  std::vector<Latency> found;
  for (std::size_t place = 0; place < all_.size(); ++place) {
    for (std::size_t of = 0; of < classes; ++of) {
      Latency one{.operation = operation_at(place),
                  .status = class_names[of],
                  .seconds = all_[place].latencies[of]->snapshot()};
      if (one.seconds.count != 0) found.push_back(std::move(one));
    }
  }
  return found;
}

std::vector<HttpMetrics::Waits> HttpMetrics::waits() const {
  std::vector<Waits> found;
  for (std::size_t place = 0; place < all_.size(); ++place) {
    const std::uint64_t count = all_[place].waits.value();
    if (count != 0) found.push_back({operation_at(place), count});
  }
  return found;
}

}  // namespace millrace::api
