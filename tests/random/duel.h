// One sequence on two stores: the reference, which is right, and the subject, which has to agree.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/values.h"
#include "store/fwd.h"
#include "tests/random/operation.h"

namespace millrace::test {

using StoreFactory = std::function<std::unique_ptr<Store>()>;

struct Duel {
  StoreFactory reference;
  StoreFactory subject;
  // Closes the subject and opens it again: called before it is looked at as a whole.
  std::function<std::unique_ptr<Store>(std::unique_ptr<Store>)> reopen = nullptr;
};

struct Defeat {
  std::size_t step = 0;  // the one after which they differed
  std::string what;
};

// Runs the sequence on fresh stores and compares every answer. nullopt: they agree.
std::optional<Defeat> fight(const Duel& duel, const Sequence& sequence);

// The shortest sequence found that still fails.
Sequence shrink(const Duel& duel, Sequence sequence);

// Generates the sequence of this seed, runs it, and shrinks it if it fails. Returns the report to
// print: the steps and what differed; nullopt: the stores agree.
struct Report {
  std::size_t steps = 0;
  std::string text;
};
std::optional<Report> try_seed(const Duel& duel, std::uint64_t seed, std::size_t length);

}  // namespace millrace::test
