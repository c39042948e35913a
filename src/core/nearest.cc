#include "core/nearest.h"

#include <algorithm>
#include <vector>

namespace millrace {
namespace {

constexpr std::size_t long_enough = 100;  // more of a word is not compared

}  // namespace

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  if (names.empty()) return {};
  return *std::ranges::min_element(names, {}, [&](std::string_view name) {
    return distance(word.substr(0, long_enough), name);
  });
}

std::string_view near_enough(std::string_view word, std::span<const std::string_view> names) {
  const std::string_view name = nearest(word, names);
  const std::size_t off = distance(word.substr(0, long_enough), name);
  return off == 1 || off * 3 <= name.size() ? name : std::string_view();
}

}  // namespace millrace
