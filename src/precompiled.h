// What nearly every source includes, compiled once (cmake/targets.cmake). No source may count on it: each includes what
// it uses, and clang-tidy, which compiles without this header, says so where one does not.
#pragma once

#include <fmt/format.h>
#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
