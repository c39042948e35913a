// Measures ours and a yardstick in one run, by turns; a figure is the ratio of the two.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::bench {

// Seconds of wall time, of this thread's own processor time, and of the whole process's.
double wall_seconds();
double cpu_seconds();
double process_cpu_seconds();

// One JSON object per line: `Line("state/lifecycle").add("batch", 1000)...print()`.
class Line {
 public:
  explicit Line(std::string_view name);
  Line& add(std::string_view key, std::string_view value);
  Line& add(std::string_view key, double value);
  Line& add(std::string_view key, std::uint64_t value);
  void print() const;

 private:
  std::string text_;
};

struct Ratio {
  double ours = 0;       // medians
  double yardstick = 0;  //
  double ratio = 0;      // median of ours / yardstick, round by round
  double least = 0;
  double greatest = 0;
};

// Compares round by round; REQUIRES: as many figures of the one as of the other.
Ratio ratio_of(const std::vector<double>& ours, const std::vector<double>& yardstick);

// Runs ours and the yardstick by turns, `rounds` times each; both return a figure of the same kind.
Ratio by_turns(int rounds, const std::function<double()>& ours,
               const std::function<double()>& yardstick);

double median(std::vector<double> values);

}  // namespace millrace::bench
