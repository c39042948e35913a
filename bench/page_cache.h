#pragma once

#include <string>

namespace millrace::bench {

// Writes the files under `directory` to the disk and makes the system forget what it holds of them
// in memory, so that the next reads come from the disk.
void drop_page_cache(const std::string& directory);

}  // namespace millrace::bench
