// Metrics in the text format of Prometheus, version 0.0.4.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/metrics.h"

namespace millrace {

inline constexpr std::string_view metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

enum class MetricKind : std::uint8_t { counter, gauge, histogram };

// Families one after another, each with all its samples; a name once.
class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  void family(std::string_view name, MetricKind kind, std::string_view help);
  void sample(Labels labels, double value);
  void sample(Labels labels, std::uint64_t value);
  void sample(Labels labels, const HistogramSnapshot& histogram);

  const std::string& text() const { return text_; }
  // Returns the text so far and starts an empty one; samples continue with their family.
  std::string take() { return std::exchange(text_, {}); }

 private:
  void name(std::string_view suffix, Labels labels,
            std::optional<std::string_view> bound = std::nullopt);
  void number(double value);
  void number(std::uint64_t value);

  std::string name_;
  std::string text_;
};

}  // namespace millrace
