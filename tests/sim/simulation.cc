#include "tests/sim/simulation.h"

#include <fmt/format.h>
#include <algorithm>

#include "store/forwarding.h"
#include "store/store.h"
#include "tests/random/describe.h"
#include "tests/support/builders.h"

namespace millrace::test {

namespace {

// After a full disk has room again, puts must be accepted after this many flushes at the latest.
constexpr int flushes_to_recover = 2;

}  // namespace

Simulation::Simulation(OpenSubject open, const History& history, bool explains)
    : opener_(std::move(open)),
      history_(history),
      explains_(explains),
      watched_(machine_, history.options),
      side_(std::make_unique<ForwardingStore>(watched_)),
      witness_(side_),
      now_(t0) {}

void Simulation::complain(std::string text) {
  if (complaint_.empty()) complaint_ = std::move(text);
}

std::string Simulation::explain(const std::string& state) {
  return explains_ && complaint_.empty() ? watched_.shadow().explain(state) : "";
}

std::optional<SimFailure> Simulation::run() {
  machine_.shorten_reads(history_.short_reads);
  recover({}, Shadow::End::power);
  while (complaint_.empty() && !over_ && next_ < history_.events.size()) {
    current_ = next_++;
    reached_ = std::max(reached_, current_);
    ++tally_.events;
    std::visit([this](const auto& event) { at(event); }, history_.events[current_]);
    settle();
  }
  tally_.disk_calls = machine_.calls();
  tally_.cleaned = machine_.contents("0000000001.journal").empty() ? 1 : 0;
  watched_.close();
  if (complaint_.empty()) return std::nullopt;
  return SimFailure{current_, reached_, complaint_};
}

// ---- Events -----------------------------------------------------------------------------------

void Simulation::at(const Operation& operation) {
  now_ = operation.now;
  const auto failed_reads = watched_.failed_reads();
  const auto answer = side_.run(operation);
  for (const auto& note : side_.complaints()) complain(note.text);
  // A read that failed says nothing.
  const bool readable = !watched_.failed() && watched_.failed_reads() == failed_reads;
  const bool whole = readable || !std::holds_alternative<LookStep>(operation.call);
  if (whole) witness_.saw(operation, answer);
  const auto* put = std::get_if<PutStep>(&operation.call);
  const auto* first = answer.empty() ? nullptr : std::get_if<Failure>(&answer.front());
  if (put != nullptr && first != nullptr && first->code == ErrorCode::limited) ++tally_.refusals;
}

void Simulation::at(const FlushEvent& event) {
  if (event.meanwhile > 0) {
    machine_.set_meanwhile(".journal", [this, &event] { run_meanwhile(event.meanwhile); });
  }
  std::ignore = watched_.flush();
  machine_.set_meanwhile({}, nullptr);
  const bool coming =
      machine_.plans_failure(DiskCall::create) || machine_.plans_failure(DiskCall::allocate);
  if (full_ || coming || flushes_left_ == 0) return;
  if (--flushes_left_ == 0) watched_.allow_refusals(false);
}

void Simulation::run_meanwhile(std::uint32_t operations) {
  for (std::uint32_t i = 0; i < operations && next_ < history_.events.size(); ++i) {
    const auto* operation = std::get_if<Operation>(&history_.events[next_]);
    if (operation == nullptr || machine_.down() || watched_.failed()) return;
    reached_ = std::max(reached_, next_);
    ++tally_.meanwhile;
    at(*operation);
    memories_.push_back({watched_.shadow().commits(), next_++, witness_});
  }
}

void Simulation::at(const EndEvent& event) {
  if (!spent_.insert(current_).second) return;
  if (event.after == 0) return end(event.ending);
  coming_ = event.ending;
  machine_.plan_crash(event.after, event.ending.seed);
}

void Simulation::at(const FailEvent& event) {
  if (!spent_.insert(current_).second) return;
  coming_ = event.ending;
  if (event.call) {
    machine_.plan_failure(*event.call, event.nth, event.code);
  } else {
    machine_.plan_failure(event.nth, event.code);
  }
  if (event.code == ErrorCode::limited) last_lags_ = true;
  // To the store this looks like a full disk for a moment.
  if (!event.call || event.call == DiskCall::allocate || event.call == DiskCall::create) {
    watched_.allow_refusals(true);
    flushes_left_ = flushes_to_recover;
  }
}

void Simulation::at(const FlipEvent& event) {
  if (!spent_.insert(current_).second) return;
  probe(event);
}

void Simulation::at(const FullEvent& event) {
  machine_.set_capacity(machine_.used() + event.room);
  watched_.allow_refusals(true);
  full_ = true;
  last_lags_ = true;
  reserve_ = has_spare();
}

bool Simulation::has_spare() const {
  return std::ranges::any_of(machine_.files(), [&](const Disk::Entry& entry) {
    return entry.name.starts_with("spare-") && entry.size == history_.options.segment_size;
  });
}

// The store notices by itself.
void Simulation::at(const RoomEvent& /*event*/) {
  machine_.set_capacity(SimDisk::unlimited);
  full_ = false;
  machine_.forget_plans();
  std::ignore = watched_.flush();
  std::ignore = watched_.advance(now_, 1000);
  std::ignore = watched_.flush();
  watched_.allow_refusals(false);
  last_lags_ = false;
}

// Only reads come after it: the store may notice, and may never answer wrongly.
void Simulation::at(const DamageEvent& event) {
  Dice dice(event.seed);
  watched_.allow_corruption();
  for (std::uint32_t i = 0; i < event.bits; ++i) {
    const auto files = machine_.files();
    if (files.empty()) break;
    const auto& file = dice.pick(files);
    if (file.size == 0) continue;
    machine_.flip(file.name, dice.below(static_cast<std::uint32_t>(file.size)), dice.below(8));
  }
  std::ignore = side_.run({now_, LookStep{.groups = true}});
  over_ = true;
}

// ---- Ending and reopening ---------------------------------------------------------------------

void Simulation::settle() {
  complain(watched_.complaint());
  complain(witness_.complaint());
  if (!complaint_.empty() || over_) return;
  if (machine_.down()) {
    ++tally_.power_cuts;
    return recover(std::exchange(coming_, {}), Shadow::End::power);
  }
  if (watched_.failed()) {
    ++tally_.failures;
    watched_.check_failed_store(now_);
    return end(std::exchange(coming_, {}));
  }
  memories_.push_back({watched_.shadow().commits(), current_, witness_});
}

void Simulation::end(const Ending& ending) {
  if (ending.how == Ending::How::power) {
    ++tally_.power_cuts;
    machine_.crash(ending.seed);
    return recover(ending, Shadow::End::power);
  }
  if (ending.how == Ending::How::kill) {
    ++tally_.kills;
    machine_.kill();
  }
  recover(ending, Shadow::End::process);
}

Result<Simulation::Opened> Simulation::open(SimDisk& machine) {
  auto options = history_.options;
  options.hash_seed = ++openings_;
  auto subject = opener_(machine.attach(), options);
  if (!subject) return std::unexpected(subject.error());
  auto state = subject->state();
  if (!state) return std::unexpected(state.error());
  return Opened{std::move(*subject), std::move(*state)};
}

std::optional<Simulation::Opened> Simulation::reopen(const Ending& ending, Shadow::End& how) {
  if (machine_.down()) machine_.restart();
  auto seed = ending.seed;
  for (const auto n : ending.while_opening) {
    machine_.plan_crash(n, ++seed);
    auto opened = open(machine_);
    // A machine that goes down takes the store that was just opened with it.
    if (opened && !machine_.down()) return std::move(*opened);
    if (!machine_.down()) break;
    ++tally_.cut_openings;
    machine_.restart();
    how = Shadow::End::power;
  }
  constexpr int most = 16;  // faults planned for later may come now, one after the other
  for (int tries = 0; tries < most; ++tries) {
    auto opened = open(machine_);
    if (opened && !machine_.down()) return std::move(*opened);
    if (machine_.down()) {
      machine_.restart();
      how = Shadow::End::power;
    } else if (full_ && !reserve_ && opened.error().code == ErrorCode::limited) {
      // An operator would have to make room.
      ++tally_.full_refusals;
      full_ = false;
      machine_.set_capacity(SimDisk::unlimited);
      --tries;
    } else if (!machine_.failed() || tries + 1 == most) {
      complain("it cannot be opened again: " + opened.error().message);
      return std::nullopt;
    }
  }
  complain("it cannot be opened again");
  return std::nullopt;
}

void Simulation::recover(const Ending& ending, Shadow::End how) {
  watched_.close();
  if (machine_.down()) how = Shadow::End::power;  // closing makes disk calls, too
  auto opened = reopen(ending, how);
  if (!opened) return;
  ++tally_.openings;
  if (full_) ++tally_.full_openings;
  last_lags_ = full_ || machine_.plans_failure(DiskCall::create);
  take_over(std::move(*opened), ending, how);
}

void Simulation::take_over(Opened opened, const Ending& ending, Shadow::End how) {
  auto& [subject, state] = opened;
  auto& shadow = watched_.shadow();
  const auto match = shadow.match(state, subject.boot, how);
  if (!match.commit) {
    return complain(
        fmt::format("the store came back with a state that it never had ({} to {} "
                    "commits): {}",
                    match.least, shadow.commits(), explain(state)));
  }
  if (*match.commit < match.least) {
    return complain(
        fmt::format("commit {} was flushed, but the store came back with the state "
                    "after commit {}",
                    match.least, *match.commit));
  }
  if (watched_.told_epochs().contains(subject.boot.epoch)) {
    return complain(
        fmt::format("epoch {} is used again: tokens of it have been told", subject.boot.epoch));
  }
  tally_.lost_commits += shadow.commits() - *match.commit;
  shadow.resume(*match.commit, state, subject.boot, how);
  const auto& now = shadow.now().state();
  side_.rewind(TaskNumber{now.numbers_given()}, now.memos.versions_given(), watched_.unflushed());
  watched_.forget_unflushed();
  watched_.open(std::move(subject));

  std::size_t known = 0;  // events whose effects are there
  while (!memories_.empty() && memories_.back().commits > *match.commit) memories_.pop_back();
  if (memories_.empty()) {
    witness_ = Witness(side_);
  } else {
    witness_ = memories_.back().witness;
    known = memories_.back().event + 1;
  }
  if (ending.repeat) next_ = std::min(next_, known);
  look();
}

// Everything that the witness knows of is there, and nothing that it must not see.
void Simulation::look() {
  const Operation operation{now_, LookStep{.groups = true}};
  const auto answer = side_.run(operation);
  for (const auto& note : side_.complaints()) complain(note.text);
  if (watched_.failed()) return;
  witness_.saw(operation, answer);
  complain(watched_.complaint());
  complain(witness_.complaint());
  memories_.push_back({watched_.shadow().commits(), next_ == 0 ? 0 : next_ - 1, witness_});
}

// ---- Flipped bits -----------------------------------------------------------------------------

void Simulation::probe(const FlipEvent& event) {
  const auto& ending = event.ending;
  if (ending.how == Ending::How::kill) machine_.kill();
  if (ending.how == Ending::How::power) machine_.crash(ending.seed);
  const bool failed_before = machine_.failed();
  watched_.close();
  // A close during which the disk fails is none.
  const bool clean =
      ending.how == Ending::How::close && !machine_.down() && machine_.failed() == failed_before;
  const auto how = machine_.down() ? Shadow::End::power : Shadow::End::process;
  if (machine_.down()) machine_.restart();
  SimDisk untouched(machine_);
  untouched.set_capacity(SimDisk::unlimited);
  auto opened = open(untouched);
  if (!opened) return complain("it cannot be opened again: " + opened.error().message);
  const auto state = std::move(opened->state);
  opened->subject.store.reset();
  for (std::uint32_t i = 0; i < event.copies; ++i) probe_one(state, clean, how, ending.seed + i);
  recover(ending, how);
}

void Simulation::probe_one(const std::string& state, bool clean, Shadow::End how,
                           std::uint64_t seed) {
  Dice dice(seed);
  SimDisk copy(machine_);
  copy.set_capacity(SimDisk::unlimited);
  const auto files = copy.files();
  if (files.empty()) return;
  // At the end of the log, damage is hardest to tell from a torn write. Names come in order,
  // segments before spares.
  const auto last = std::ranges::find_if(files.rbegin(), files.rend(), [](const auto& entry) {
    return entry.name.ends_with(".journal");
  });
  if (last != files.rend() && dice.percent(25)) return probe_end(copy, last->name, how, dice);
  const auto& file = last != files.rend() && dice.percent(50) ? *last : dice.pick(files);
  if (file.size == 0) return;
  // Mostly flips where something is written.
  const auto bytes = copy.contents(file.name);
  std::uint32_t offset = 0;
  for (int tries = 0; tries < 20 && bytes[offset] == '\0'; ++tries) {
    offset = dice.below(static_cast<std::uint32_t>(file.size));
  }
  const auto bit = dice.below(8);
  copy.flip(file.name, offset, bit);
  const auto where = fmt::format("bit {} of byte {} of {}", bit, offset, file.name);
  auto probe = open(copy);
  if (!probe) {
    ++tally_.flips_refused;
    return check_refusal(probe.error(), where + " turned");
  }
  const auto& found = probe->state;
  read_probe(probe->subject, where);
  if (Shadow::hash(found) == Shadow::hash(state)) {
    ++tally_.flips_harmless;
    return;
  }
  const auto match = watched_.shadow().match(found, probe->subject.boot, how);
  if (!clean && match.commit && *match.commit >= match.least_if_damaged) {
    ++tally_.flips_cut;
  } else {
    complain(fmt::format("with {} turned it opens with another state: {}", where,
                         match.commit ? fmt::format("the one after commit {}, not {}",
                                                    *match.commit, match.least_if_damaged)
                                      : explain(found)));
  }
}

void Simulation::check_refusal(const Error& error, const std::string& harm) {
  if (error.code != ErrorCode::corrupt) {
    complain(fmt::format("with {} it is not opened, but the error is {}: {}", harm,
                         millrace::name_of(error.code), error.message));
  } else if (!error.message.contains("offset") && !error.message.contains("is missing")) {
    complain(fmt::format("the error does not say where: {}", error.message));
  }
}

// A last segment in which anything was acknowledged is missed.
void Simulation::probe_end(SimDisk& copy, const std::string& name, Shadow::End how, Dice& dice) {
  const auto left = dice.below(static_cast<std::uint32_t>(history_.options.segment_size));
  std::string harm = name;
  if (const auto roll = dice.below(3); roll == 0) {
    copy.cut(name, left);
    harm += fmt::format(" cut off at {}", left);
  } else if (roll == 1) {
    copy.cut(name, 0, true);
    harm += " blank";
  } else {
    copy.lose(name);
    harm += " gone";
  }
  auto probe = open(copy);
  if (!probe) {
    ++tally_.ends_refused;
    return check_refusal(probe.error(), harm);
  }
  ++tally_.ends_harmless;
  const auto match = watched_.shadow().match(probe->state, probe->subject.boot, how);
  if (last_lags_ || (match.commit && *match.commit >= match.least)) return;
  complain(fmt::format("with {} it opens without what was acknowledged: {}", harm,
                       match.commit ? fmt::format("commit {} of {}", *match.commit, match.least)
                                    : explain(probe->state)));
}

// Everything that can still be read is what was written.
void Simulation::read_probe(Subject& probe, const std::string& where) {
  ListRequest request{.limit = 100, .detail = Detail::full};
  while (true) {
    const auto page = probe.store->list(request);
    if (!page) {
      if (page.error().code != ErrorCode::corrupt && page.error().code != ErrorCode::unavailable) {
        complain(fmt::format("with {} turned a list says {}", where, page.error().message));
      }
      return;
    }
    if (!page->next) return;
    request.before = page->next;
  }
}

}  // namespace millrace::test
