#include "core/metrics_text.h"

#include <fmt/format.h>
#include <cmath>
#include <iterator>

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
  name("", labels);
  number(value);
}

void MetricsText::sample(Labels labels, std::uint64_t value) {
  name("", labels);
  number(value);
}

// There are thousands of such lines, so each copies the beginning of the one before.
void MetricsText::sample(Labels labels, const HistogramSnapshot& histogram) {
  const std::size_t begin = text_.size();
  name("_bucket", labels, "");
  text_.resize(text_.size() - 3);  // "} and a space
  const std::string front = text_.substr(begin);
  text_.resize(begin);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    below += histogram.counts[i];
    text_ += front;
    if (i < histogram.bounds.size()) {
      fmt::format_to(std::back_inserter(text_), "{}", histogram.bounds[i]);
    } else {
      text_ += "+Inf";
    }
    text_ += "\"} ";
    number(below);
  }
  name("_sum", labels);
  number(histogram.sum);
  name("_count", labels);
  number(histogram.count);
}

void MetricsText::number(double value) {
  if (std::isnan(value)) {
    text_ += "NaN\n";
  } else if (std::isinf(value)) {
    text_ += value > 0 ? "+Inf\n" : "-Inf\n";
  } else {
    fmt::format_to(std::back_inserter(text_), "{}\n", value);
  }
}

void MetricsText::number(std::uint64_t value) {
  const fmt::format_int text(value);
  text_.append(text.data(), text.size());
  text_ += '\n';
}

// Name, labels and the space before the value; `bound` has a label of its own.
void MetricsText::name(std::string_view suffix, Labels labels,
                       std::optional<std::string_view> bound) {
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
  if (bound) label("le", *bound);
  if (before == ',') text_ += '}';
  text_ += ' ';
}

}  // namespace millrace
