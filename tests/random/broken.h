// Stores with one deliberate defect each: they prove that a random sequence finds it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/values.h"
#include "store/fwd.h"

namespace millrace::test {

struct Defect {
  std::string name;
  std::unique_ptr<Store> (*make)();
};

// What GoogleTest calls a test of this defect.
void PrintTo(const Defect& defect, std::ostream* os);

const std::vector<Defect>& defects();

}  // namespace millrace::test
