// What /metrics shows, made piece by piece: with a thousand queues the page has megabytes, and the
// thread that makes it has other connections to serve.
//
// Names and labels are promised to users: docs/metrics.md lists them all, and a test compares.
#pragma once

#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/server/http_metrics.h"
#include "api/server/listener.h"
#include "api/server/process_metrics.h"
#include "broker/metrics_snapshot.h"
#include "core/metrics_text.h"

namespace millrace::api {

// All that is shown, as it was at one moment.
struct Shown {
  std::string version = {};
  TimePoint started_at{};
  bool ready = false;
  // nullopt: there is no broker yet, or it could not answer.
  std::optional<MetricsSnapshot> snapshot = std::nullopt;
  bool compat = false;  // with the families of other systems (docs/coming-from-another-system.md)
  ListenerCounts traffic = {};
  ProcessMetrics process = {};
  std::vector<HttpMetrics::Latency> latencies = {};
  std::vector<HttpMetrics::Waits> waits = {};
  std::uint64_t event_streams = 0;
  std::uint64_t events_sent = 0;
  std::uint64_t events_skipped = 0;
};

struct MetricFamily {
  std::string_view name = {};
  MetricKind kind = MetricKind::gauge;
  std::string_view help = {};
  std::size_t rows = 1;  // how often `write` is called, with 0, 1, ...
  std::function<void(MetricsText& text, std::size_t row)> write = {};
};
using Families = std::vector<MetricFamily>;

// Each adds its families, which read from `shown`; `shown` must outlive them.
void add_server_families(Families& to, const Shown& shown);
void add_broker_families(Families& to, const Shown& shown);
void add_queue_families(Families& to, const Shown& shown);
void add_group_families(Families& to, const Shown& shown);
void add_task_families(Families& to, const Shown& shown);
void add_compat_families(Families& to, const Shown& shown);

class MetricsPage {
 public:
  explicit MetricsPage(Shown shown);
  MetricsPage(const MetricsPage&) = delete;
  MetricsPage& operator=(const MetricsPage&) = delete;

  // About so many bytes of the page; fewer only at its end, and none after that.
  std::string next(std::size_t about);

 private:
  const Shown shown_;
  Families families_;
  std::size_t family_ = 0;
  std::size_t row_ = 0;
  MetricsText text_;
};

// The same histogram with fewer bounds, each of which must be one of its own.
HistogramSnapshot with_bounds(const HistogramSnapshot& histogram, std::span<const double> bounds);

}  // namespace millrace::api
