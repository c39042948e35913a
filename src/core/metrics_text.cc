#include "core/metrics_text.h"

#include <fmt/format.h>
#include <cmath>

namespace millrace {
namespace {

std::string_view word_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::counter:
      return "counter";
    case MetricKind::gauge:
      return "gauge";
    case MetricKind::histogram:
      return "histogram";
  }
  return "untyped";
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

}  // namespace

void MetricsText::family(std::string_view name, MetricKind kind, std::string_view help) {
  name_ = name;
  text_ += "# HELP ";
  text_ += name;
  text_ += ' ';
  append_escaped(text_, help, false);
  text_ += "\n# TYPE ";
  text_ += name;
  text_ += ' ';
  text_ += word_of(kind);
  text_ += '\n';
}

void MetricsText::sample(Labels labels, double value) {
  line("", labels, "", number(value));
}

void MetricsText::sample(Labels labels, std::uint64_t value) {
  line("", labels, "", fmt::format("{}", value));
}

void MetricsText::sample(Labels labels, const HistogramSnapshot& histogram) {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    below += histogram.counts[i];
    const bool last = i == histogram.bounds.size();
    line("_bucket", labels, last ? "+Inf" : number(histogram.bounds[i]), fmt::format("{}", below));
  }
  line("_sum", labels, "", number(histogram.sum));
  line("_count", labels, "", fmt::format("{}", histogram.count));
}

void MetricsText::line(std::string_view suffix, Labels labels, std::string_view bound,
                       std::string_view value) {
  text_ += name_;
  text_ += suffix;
  char before = '{';
  const auto label = [&](std::string_view name, std::string_view text) {
    text_ += before;
    before = ',';
    text_ += name;
    text_ += "=\"";
    append_escaped(text_, text, true);
    text_ += '"';
  };
  for (const auto& [name, text] : labels) label(name, text);
  if (!bound.empty()) label("le", bound);
  if (before == ',') text_ += '}';
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

}  // namespace millrace
