#include "postgres/params.h"

namespace millrace::postgres {
namespace {

constexpr TimePoint postgres_epoch =
    std::chrono::sys_days(std::chrono::year(2000) / std::chrono::January / 1);
// END_TIMESTAMP and MIN_TIMESTAMP of PostgreSQL: the first moment after its years, and the first.
constexpr std::int64_t past_the_end = 9'223'371'331'200'000'000;
constexpr std::int64_t beginning = -211'813'488'000'000'000;
constexpr std::int64_t infinity = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t minus_infinity = std::numeric_limits<std::int64_t>::min();

}  // namespace

std::int64_t to_postgres_time(TimePoint moment) {
  const std::int64_t ms = moment.time_since_epoch().count();
  const std::int64_t epoch = postgres_epoch.time_since_epoch().count();
  if (ms >= past_the_end / 1000 + epoch) return infinity;
  if (ms < beginning / 1000 + epoch) return minus_infinity;
  return (ms - epoch) * 1000;
}

TimePoint from_postgres_time(std::int64_t microseconds) {
  if (microseconds == infinity) return never;
  if (microseconds == minus_infinity) return TimePoint::min();
  // Rounds down, so that past and future are cut alike.
  return postgres_epoch + std::chrono::floor<Duration>(std::chrono::microseconds(microseconds));
}

void Params::begin(Oid type) {
  types_.push_back(type);
  slots_.push_back({.at = buffer_.size(), .size = 0});
}

void Params::end() {
  slots_.back().size = buffer_.size() - slots_.back().at;
}

void Params::add_typed_null(Oid type) {
  types_.push_back(type);
  slots_.push_back({.at = buffer_.size()});
}

void Params::clear() {
  buffer_.clear();
  slots_.clear();
  types_.clear();
}

}  // namespace millrace::postgres
