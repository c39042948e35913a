// A durable store so simple that it is obviously right: every flush writes the whole state into a
// new file, syncs it, and renames it over the old one. It tests the simulator, and so do its broken
// variants, each of which the simulator has to find.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/subject.h"

namespace millrace::test {

enum class PlainDefect : std::uint8_t {
  none,
  no_sync,              // renames before the bytes are on disk
  no_directory_sync,    // answers before the name is on disk
  late_answer,          // answers a flush before it has done anything; the next one does it
  no_checksum,          // believes what it reads
  same_epoch,           // tokens of two boots are alike
  in_place,             // overwrites the only copy
  blind_to_sync,        // goes on after a failed sync
  reads_after_failure,  // answers reads after a failed sync
  forgets_removals,     // a removed task is there again after the next opening
  dies_when_full,       // a full disk is fatal
};

Result<Subject> open_plain(std::unique_ptr<Disk> disk, const SubjectOptions& options,
                           PlainDefect defect = PlainDefect::none);

struct NamedDefect {
  std::string name;
  PlainDefect defect = PlainDefect::none;
};
const std::vector<NamedDefect>& plain_defects();

}  // namespace millrace::test
