// How much reads disturb writes: work and single puts over HTTP, with and without clients that read
// a large stock of old tasks, by turns.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "bench/processes.h"

namespace millrace::bench {

struct ReadsSettings {
  int rounds = 9;
  double seconds = 2;                // of each figure
  std::size_t stored = 2'000'000;    // tasks that are read
  std::size_t work_tasks = 200'000;  // that wait before the first round
  std::string directory = {};  // its files leave the page cache before each figure; empty: none
  std::function<void()> loaded = [] {};  // called once all of them are stored
};

// Prints <name>/reads (20 reads per second) and <name>/flood (eight clients without pause).
void measure_reads(std::string_view name, TestServer& server, const ReadsSettings& settings);

}  // namespace millrace::bench
