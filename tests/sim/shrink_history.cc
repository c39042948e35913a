// Drops the events that are not needed for a failure.
#include <fmt/format.h>
#include <algorithm>

#include "tests/random/describe.h"
#include "tests/sim/simulation.h"

namespace millrace::test {

namespace {

class Shrinker {
 public:
  Shrinker(const OpenSubject& open, History history) : open_(open), best_(std::move(history)) {}

  History run() {
    if (!fails(best_)) return best_;
    for (bool smaller = true; smaller && left_ > 0;) {
      smaller = false;
      for (auto size = std::max<std::size_t>(best_.events.size() / 2, 1);; size /= 2) {
        smaller |= drop_chunks(size);
        if (size == 1) break;
      }
      smaller |= drop_items();
    }
    return best_;
  }

 private:
  // Whether the history still fails; it then ends with the last event that was run.
  bool fails(History& history) {
    if (left_ == 0) return false;
    --left_;
    const auto failure = Simulation(open_, history, false).run();
    if (!failure) return false;
    history.events.resize(std::min(history.events.size(), failure->reached + 1));
    return true;
  }

  bool drop_chunks(std::size_t size) {
    bool smaller = false;
    for (std::size_t from = 0; from < best_.events.size();) {
      auto shorter = best_;
      const auto length = std::min(size, shorter.events.size() - from);
      const auto begin = shorter.events.begin() + static_cast<std::ptrdiff_t>(from);
      shorter.events.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
      if (fails(shorter)) {
        best_ = std::move(shorter);
        smaller = true;
      } else {
        from += length;
      }
    }
    return smaller;
  }

  // Tries each event with one item of its batch left out.
  bool drop_items() {
    bool smaller = false;
    for (std::size_t event = 0; event < best_.events.size(); ++event) {
      for (std::size_t item = 0;; ++item) {
        auto shorter = best_;
        if (!drop_item(shorter.events[event], item)) break;
        if (!fails(shorter)) continue;
        best_ = std::move(shorter);
        smaller = true;
        if (event >= best_.events.size()) break;
        --item;
      }
    }
    return smaller;
  }

  static bool drop_item(SimEvent& event, std::size_t item) {
    auto* operation = std::get_if<Operation>(&event);
    if (operation == nullptr) {
      auto* end = std::get_if<EndEvent>(&event);
      if (end == nullptr || item >= end->ending.while_opening.size()) return false;
      end->ending.while_opening.erase(end->ending.while_opening.begin() +
                                      static_cast<std::ptrdiff_t>(item));
      return true;
    }
    const auto erase = [&](auto& list) {
      if (item < list.size()) {
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(item));
        item = 0;
        return true;
      }
      item -= list.size();
      return false;
    };
    if (auto* put = std::get_if<PutStep>(&operation->call)) return erase(put->tasks);
    if (auto* all = std::get_if<PutAllStep>(&operation->call)) return erase(all->tasks);
    if (auto* cancel = std::get_if<CancelStep>(&operation->call)) return erase(cancel->requests);
    if (auto* remove = std::get_if<RemoveStep>(&operation->call)) return erase(remove->tasks);
    if (auto* work = std::get_if<WorkStep>(&operation->call)) {
      return erase(work->settlements) || erase(work->extensions) || erase(work->takes);
    }
    return false;
  }

  const OpenSubject& open_;
  History best_;
  int left_ = 800;  // runs
};

}  // namespace

History shrink(const OpenSubject& open, History history) {
  return Shrinker(open, std::move(history)).run();
}

std::optional<SimAccount> simulate(const OpenSubject& open, std::uint64_t seed, SimTally& tally,
                                   bool whole) {
  auto history = make_history(seed);
  Simulation first(open, history);
  const auto failure = first.run();
  tally = first.tally();
  if (!failure) return std::nullopt;
  auto shorter = whole ? history : shrink(open, history);
  auto shown = Simulation(open, shorter).run();
  if (!shown) shown = failure, shorter = std::move(history);
  return SimAccount{shorter.events.size(),
                    fmt::format("seed {}, shrunk to {} events:\n{}after event {}: {}\n", seed,
                                shorter.events.size(), shortened(describe(shorter)),
                                shown->event + 1, shortened(shown->what))};
}

}  // namespace millrace::test
