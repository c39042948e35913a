// A folder of zone files that no update of the system's time zone database can change: unpacked
// from tests/cron_oracle/zones.hex, removed when the program ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "tests/support/temporary_directory.h"

namespace millrace::test {

class ZoneDatabase {
 public:
  ZoneDatabase() {
    std::ifstream packed("tests/cron_oracle/zones.hex");
    if (!packed) throw std::runtime_error("no zones.hex: run from the top of the tree");
    std::ofstream file;
    for (std::string line; std::getline(packed, line);) {
      if (line.starts_with("  ")) {
        write_bytes(file, line.substr(2));
      } else {
        file = open(line);
      }
    }
  }

  const std::string& path() const { return directory_.path(); }

 private:
  std::ofstream open(const std::string& zone) const {
    const auto file = std::filesystem::path(path()) / zone;
    std::filesystem::create_directories(file.parent_path());
    return std::ofstream(file, std::ios::binary);
  }
  static void write_bytes(std::ofstream& file, const std::string& hex) {
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      file.put(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
  }

  TemporaryDirectory directory_;
};

inline const std::string& zone_database() {
  static const ZoneDatabase database;
  return database.path();
}

}  // namespace millrace::test
