// A file that appears complete or not at all.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <fstream>
#include <ostream>
#include <string>

namespace millrace::cli {

// Writes next to the file and renames when finished; otherwise nothing is left.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  enum class Readers : std::uint8_t { owner, all };
  // `conflict` if the file exists and must not be replaced.
  Result<void> open(bool replace, Readers readers = Readers::owner);
  std::ostream& stream() { return stream_; }
  // Durable under its name when this returns.
  Result<void> finish();

 private:
  const std::string path_;
  const std::string beside_;
  std::ofstream stream_;
  bool unfinished_ = false;
};

}  // namespace millrace::cli
