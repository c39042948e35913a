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

Ratio by_turns(int rounds, const std::function<double()>& ours,
               const std::function<double()>& yardstick) {
  std::vector<double> our_figures;
  std::vector<double> their_figures;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    our_figures.push_back(ours());
    their_figures.push_back(yardstick());
    ratios.push_back(our_figures.back() / their_figures.back());
  }
  return {.ours = median(our_figures),
          .yardstick = median(their_figures),
          .ratio = median(ratios),
          .least = std::ranges::min(ratios),
          .greatest = std::ranges::max(ratios)};
}

}  // namespace millrace::bench
