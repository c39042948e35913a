#include "tests/sim/history.h"

#include <fmt/format.h>
#include <array>

#include "tests/random/describe.h"
#include "tests/random/generator.h"

namespace millrace::test {

// ---- Making -----------------------------------------------------------------------------------

namespace {

// Bytes that no two tasks share, so that a wrong one is noticed.
std::string noise(std::uint32_t size, Dice& dice) {
  std::string bytes(size, '\0');
  for (auto& byte : bytes) byte = static_cast<char>(dice.below(256));
  return bytes;
}

void fatten(std::string& bytes, const Workload& workload, Dice& dice) {
  if (!dice.percent(workload.payload_percent)) return;
  bytes =
      noise(dice.below(dice.percent(80) ? workload.payload_most / 4 : workload.payload_most), dice);
}

// For a journal to show its defects, segments have to fill and payloads have to leave the cache.
void fatten(Operation& operation, const Workload& workload, Dice& dice) {
  if (auto* put = std::get_if<PutStep>(&operation.call)) {
    constexpr std::size_t most = 50;  // larger batches are invalid on purpose
    if (put->tasks.size() > most) {
      // A gigabyte of invalid input shows no more than a little of it.
      for (auto& task : put->tasks) task.payload.clear();
      return;
    }
    for (auto& task : put->tasks) fatten(task.payload, workload, dice);
  } else if (auto* all = std::get_if<PutAllStep>(&operation.call)) {
    for (auto& task : all->tasks) fatten(task.payload, workload, dice);
  } else if (auto* work = std::get_if<WorkStep>(&operation.call)) {
    for (auto& part : work->settlements) {
      if (part.settlement.event == Event::done) fatten(part.settlement.result, workload, dice);
      for (auto& task : part.settlement.follow_ups) fatten(task.payload, workload, dice);
    }
  } else if (auto* fire = std::get_if<FireStep>(&operation.call)) {
    fatten(fire->tick.task.payload, workload, dice);
  } else if (auto* remember = std::get_if<RememberStep>(&operation.call)) {
    if (remember->request.value && dice.percent(20)) {
      fatten(*remember->request.value, workload, dice);
    }
  }
}

Ending ending(Dice& dice) {
  const auto roll = dice.below(100);
  Ending ending{.how = roll < 65   ? Ending::How::power
                       : roll < 85 ? Ending::How::kill
                                   : Ending::How::close,
                .seed = 1 + dice.below(1'000'000),
                .while_opening = {},
                .repeat = dice.percent(50)};
  while (dice.percent(25)) ending.while_opening.push_back(dice.between(1U, 12U));
  return ending;
}

SimEvent fault(Dice& dice) {
  const auto roll = dice.below(100);
  if (roll < 60) {
    EndEvent event{.after = dice.percent(20) ? 0 : dice.between(1U, 30U), .ending = ending(dice)};
    if (event.after > 0) event.ending.how = Ending::How::power;
    return event;
  }
  if (roll < 85) {
    constexpr std::array calls = {DiskCall::sync,   DiskCall::sync,    DiskCall::write,
                                  DiskCall::write,  DiskCall::read,    DiskCall::sync_directory,
                                  DiskCall::create, DiskCall::rename,  DiskCall::remove,
                                  DiskCall::open,   DiskCall::allocate};
    FailEvent event{.call = calls.at(dice.below(calls.size())),
                    .nth = dice.between(1U, 6U),
                    .code = ErrorCode::unavailable,
                    .ending = ending(dice)};
    const bool grows = event.call == DiskCall::allocate || event.call == DiskCall::create;
    if (grows && dice.percent(70)) event.code = ErrorCode::limited;
    return event;
  }
  return FlipEvent{.ending = ending(dice), .copies = dice.between(1U, 8U)};
}

}  // namespace

std::vector<SimEvent> make_workload(std::uint64_t seed, const Workload& workload) {
  Dice dice(seed * 2 + 1);
  std::vector<SimEvent> events;
  for (auto& operation : generate(seed, workload.length, {.graphs = true, .groups = true})) {
    fatten(operation, workload, dice);
    events.emplace_back(std::move(operation));
    if (!dice.percent(workload.flush_percent)) continue;
    events.emplace_back(FlushEvent{.meanwhile = dice.percent(30) ? dice.between(1U, 3U) : 0});
  }
  return events;
}

History make_history(std::uint64_t seed) {
  Dice dice(seed * 2);
  History history;
  const auto roll = dice.below(100);
  history.options.sync = roll < 65   ? SyncRule::always
                         : roll < 85 ? SyncRule::interval
                                     : SyncRule::never;
  history.options.interval = dice.between(Duration(1), Duration(5000));
  history.options.cache_size = dice.pick(std::vector<std::size_t>{0, 1000, 16'000, 64'000'000});
  history.short_reads = dice.percent(30);
  const Workload workload{
      .length = dice.percent(30) ? dice.between(200U, 400U) : dice.between(40U, 160U),
      .flush_percent = dice.pick(std::vector<std::uint32_t>{10, 40, 70, 100}),
      .payload_percent = dice.pick(std::vector<std::uint32_t>{10, 50, 90}),
      .payload_most = dice.pick(std::vector<std::uint32_t>{500, 4000, 12'000})};
  // The largest task, with payload and result, has to fit into a segment.
  const std::size_t least = workload.payload_most > 4000  ? 32 * 1024
                            : workload.payload_most > 500 ? 16 * 1024
                                                          : 8 * 1024;
  history.options.segment_size = least << dice.below(2);
  history.events = make_workload(seed, workload);

  const auto insert = [&](SimEvent event) {
    const auto at = 4 + dice.below(static_cast<std::uint32_t>(history.events.size() - 4));
    history.events.insert(history.events.begin() + at, std::move(event));
    return at;
  };
  const auto faults = dice.between(1U, 5U);
  for (std::uint32_t i = 0; i < faults; ++i) insert(fault(dice));
  if (dice.percent(20)) {
    const auto from = insert(FullEvent{.room = dice.below(3) * history.options.segment_size});
    const auto rest = static_cast<std::uint32_t>(history.events.size() - from);
    const auto until = from + dice.between(1U, rest);
    history.events.insert(history.events.begin() + until, RoomEvent{});
    // No number of restarts in a row may use up the reserve.
    const auto restart = history.events.begin() + from + dice.between(1U, until - from);
    std::vector<SimEvent> restarts(dice.percent(50) ? dice.between(2U, 8U) : 0);
    for (SimEvent& event : restarts) event = EndEvent{.after = 0, .ending = ending(dice)};
    history.events.insert(restart, restarts.begin(), restarts.end());
  }
  history.events.emplace_back(FlushEvent{});
  if (dice.percent(10)) {
    history.events.emplace_back(
        DamageEvent{.bits = dice.between(1U, 20U), .seed = 1 + dice.below(1'000'000)});
  } else {
    history.events.emplace_back(EndEvent{.after = 0, .ending = ending(dice)});
  }
  return history;
}

// ---- Describing -------------------------------------------------------------------------------

std::string describe(const Ending& ending) {
  auto text = ending.how == Ending::How::power  ? fmt::format("power cut, seed {}", ending.seed)
              : ending.how == Ending::How::kill ? std::string("kill")
                                                : std::string("close");
  for (const auto n : ending.while_opening) {
    text += fmt::format(", power cut at change {} of the opening", n);
  }
  return text + (ending.repeat ? ", callers repeat what was lost" : "");
}

std::string describe(const SimEvent& event) {
  struct Describe {
    std::string operator()(const Operation& operation) const { return test::describe(operation); }
    std::string operator()(const FlushEvent& event) const {
      return event.meanwhile == 0
                 ? "flush"
                 : fmt::format("flush, and meanwhile the next {} operations", event.meanwhile);
    }
    std::string operator()(const EndEvent& event) const {
      return (event.after == 0 ? "now " : fmt::format("at disk change {}: ", event.after)) +
             test::describe(event.ending);
    }
    std::string operator()(const FailEvent& event) const {
      return fmt::format("{} {} fails ({}), then {}",
                         event.call ? test::name_of(*event.call) : "disk call", event.nth,
                         millrace::name_of(event.code), test::describe(event.ending));
    }
    std::string operator()(const FlipEvent& event) const {
      return fmt::format("{}, {} copies that are damaged", test::describe(event.ending),
                         event.copies);
    }
    std::string operator()(const DamageEvent& event) const {
      return fmt::format("{} bits turn while the store runs, seed {}", event.bits, event.seed);
    }
    std::string operator()(const FullEvent& event) const {
      return fmt::format("the disk is full but for {} bytes", event.room);
    }
    std::string operator()(const RoomEvent& /*event*/) const { return "the disk has room again"; }
  };
  return std::visit(Describe{}, event);
}

std::string describe(const SubjectOptions& options) {
  constexpr std::array rules = {"always", "interval", "never"};
  return fmt::format("sync {}, interval {} ms, segments of {}, cache of {}",
                     rules.at(static_cast<std::size_t>(options.sync)), options.interval.count(),
                     options.segment_size, options.cache_size);
}

std::string describe(const History& history) {
  auto text =
      fmt::format("{}{}\n", describe(history.options), history.short_reads ? ", short reads" : "");
  for (std::size_t i = 0; i < history.events.size(); ++i) {
    text += fmt::format("{:3} {}\n", i + 1, describe(history.events[i]));
  }
  return text;
}

}  // namespace millrace::test
