// Times for people.
#pragma once

#include <millrace/time.h>
#include <string>

namespace millrace::cli {

// One unit, or two where the first is small: 250ms, 4s, 1m30s, 12m, 2h5m, 3d.
std::string brief(Duration duration);

// "3m ago", "in 2h5m", "just now", "never".
std::string age(TimePoint moment, TimePoint now);

// 2026-01-02 03:04:05Z (3m ago)
std::string moment_and_age(TimePoint moment, TimePoint now);

}  // namespace millrace::cli
