#include "bench/measure.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>

namespace millrace::bench {
namespace {

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

double wall_seconds() {
  return seconds(CLOCK_MONOTONIC);
}
double cpu_seconds() {
  return seconds(CLOCK_THREAD_CPUTIME_ID);
}
double process_cpu_seconds() {
  return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

Line::Line(std::string_view name) : text_(fmt::format(R"({{"bench":"{}")", name)) {}

Line& Line::add(std::string_view key, std::string_view value) {
  text_ += fmt::format(R"(,"{}":"{}")", key, value);
  return *this;
}
Line& Line::add(std::string_view key, double value) {
  text_ += fmt::format(R"(,"{}":{:.4g})", key, value);
  return *this;
}
Line& Line::add(std::string_view key, std::uint64_t value) {
  text_ += fmt::format(R"(,"{}":{})", key, value);
  return *this;
}
void Line::print() const {
  std::printf("%s}\n", text_.c_str());
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

Ratio ratio_of(const std::vector<double>& ours, const std::vector<double>& yardstick) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / yardstick[i]);
  return {.ours = median(ours),
          .yardstick = median(yardstick),
          .ratio = median(ratios),
          .least = std::ranges::min(ratios),
          .greatest = std::ranges::max(ratios)};
}

Ratio by_turns(int rounds, const std::function<double()>& ours,
               const std::function<double()>& yardstick) {
  std::vector<double> our_figures;
  std::vector<double> their_figures;
  for (int round = 0; round < rounds; ++round) {
    our_figures.push_back(ours());
    their_figures.push_back(yardstick());
  }
  return ratio_of(our_figures, their_figures);
}

}  // namespace millrace::bench
