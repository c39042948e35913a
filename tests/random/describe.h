// Steps as readable text, and the names that tasks and queues have in it.
#pragma once

#include <cstdint>
#include <string>

#include "tests/random/operation.h"

namespace millrace::test {

// The id of the k-th task of a sequence, shown as #k; 0 is nil.
TaskId task_id(std::uint32_t k);
// The UUID of the k-th queue, shown as @k.
Uuid queue_id(std::uint32_t k);

// The same text with such ids in their short form, and less noise.
std::string shortened(const std::string& text);

// "t0+5s take w1 {mail 3}"
std::string describe(const Operation& operation);

// Numbered steps, one per line.
std::string describe(const Sequence& sequence);

}  // namespace millrace::test
