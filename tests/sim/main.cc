// ./dev sim: runs many histories, or replays one.
#include <fmt/format.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/sim/simulation.h"

namespace {

using namespace millrace;
using namespace millrace::test;

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t seeds = 1000;
  bool whole = false;
};

int usage(std::string_view wrong) {
  fmt::print(stderr,
             "{}\nusage: sim [--seeds N] [--seed S] [--whole]\n"
             "  --seeds N  how many histories (1,000)\n"
             "  --seed S   the first; alone: only this one\n"
             "  --whole    shows failing histories as they are, without shrinking them\n",
             wrong);
  return 2;
}

void add(SimTally& sum, const SimTally& one) {
  sum.events += one.events;
  sum.power_cuts += one.power_cuts;
  sum.kills += one.kills;
  sum.openings += one.openings;
  sum.cut_openings += one.cut_openings;
  sum.lost_commits += one.lost_commits;
  sum.failures += one.failures;
  sum.refusals += one.refusals;
  sum.full_openings += one.full_openings;
  sum.full_refusals += one.full_refusals;
  sum.flips_refused += one.flips_refused;
  sum.flips_harmless += one.flips_harmless;
  sum.flips_cut += one.flips_cut;
  sum.ends_refused += one.ends_refused;
  sum.ends_harmless += one.ends_harmless;
  sum.disk_calls += one.disk_calls;
  sum.cleaned += one.cleaned;
  sum.meanwhile += one.meanwhile;
}

void print(const SimTally& tally) {
  fmt::print(
      "{} events ({} during a flush), {} disk calls, {} histories with cleaning, {} openings ({} "
      "cut short), {} power "
      "cuts, {} kills, "
      "{} failed stores, {} commits lost that were never acknowledged, {} puts refused by a full "
      "disk, {} openings on a full disk ({} refused, because there was no reserve before), flipped "
      "bits: {} refused, {} in unused space, {} taken for a torn end, last segments cut off, blank "
      "or gone: {} refused, {} with nothing acknowledged in them\n",
      tally.events, tally.meanwhile, tally.disk_calls, tally.cleaned, tally.openings,
      tally.cut_openings, tally.power_cuts, tally.kills, tally.failures, tally.lost_commits,
      tally.refusals, tally.full_openings, tally.full_refusals, tally.flips_refused,
      tally.flips_harmless, tally.flips_cut, tally.ends_refused, tally.ends_harmless);
}

int run(const Arguments& arguments) {
  constexpr std::uint64_t report_every = 1000;
  SimTally sum;
  std::uint64_t failures = 0;
  for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
    const auto seed = arguments.first + i;
    SimTally tally;
    if (const auto account = simulate(open_journal_subject, seed, tally, arguments.whole)) {
      ++failures;
      fmt::print("{}replay with ./dev sim --seed {}\n\n", account->text, seed);
    }
    add(sum, tally);
    if ((i + 1) % report_every == 0) fmt::print("{} of {} seeds\n", i + 1, arguments.seeds);
    std::fflush(stdout);
  }
  print(sum);
  fmt::print("{} seeds, {} failures\n", arguments.seeds, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  bool counted = false;
  bool named = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--whole") {
      arguments.whole = true;
      continue;
    }
    if (argument != "--seeds" && argument != "--seed") {
      return usage(fmt::format("unknown argument {}", argument));
    }
    char* end = nullptr;
    const auto value = i + 1 < argc ? std::strtoull(argv[++i], &end, 10) : 0;
    if (end == nullptr || *end != '\0') return usage(fmt::format("{} needs a number", argument));
    (argument == "--seeds" ? arguments.seeds : arguments.first) = value;
    (argument == "--seeds" ? counted : named) = true;
  }
  if (named && !counted) arguments.seeds = 1;
  return run(arguments);
}
