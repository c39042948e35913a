#include "tests/random/duel.h"

#include <fmt/format.h>

#include "tests/random/describe.h"
#include "tests/random/generator.h"
#include "tests/random/side.h"
#include "tests/random/witness.h"

namespace millrace::test {

std::optional<Defeat> fight(const Duel& duel, const Sequence& sequence) {
  Side reference(duel.reference());
  Side subject(duel.subject());
  Witness witness(subject);
  for (std::size_t step = 0; step < sequence.size(); ++step) {
    const auto& operation = sequence[step];
    if (duel.reopen && std::holds_alternative<LookStep>(operation.call)) {
      subject.reopen(duel.reopen);
    }
    const auto got = subject.run(operation);
    if (auto what = disagreement(reference.run(operation), got)) {
      return Defeat{step, std::move(*what)};
    }
    witness.saw(operation, got);
    if (!witness.complaint().empty()) return Defeat{step, witness.complaint()};
  }
  return std::nullopt;
}

std::optional<Report> try_seed(const Duel& duel, std::uint64_t seed, std::size_t length) {
  auto sequence = generate(seed, length, abilities_of(duel.subject()->traits()));
  if (!fight(duel, sequence)) return std::nullopt;
  sequence = shrink(duel, std::move(sequence));
  const auto defeat = fight(duel, sequence);
  auto text =
      fmt::format("seed {}, shrunk to {} steps:\n{}", seed, sequence.size(), describe(sequence));
  if (defeat) text += fmt::format("after step {}: {}\n", defeat->step + 1, shortened(defeat->what));
  return Report{sequence.size(), std::move(text)};
}

}  // namespace millrace::test
