// Works on a journal under load until it is killed, and tells its parent what was acknowledged.
//
//   crash_child DIRECTORY SEED        facts go to standard output
#include <unistd.h>

#include <fmt/format.h>
#include <deque>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "broker/blocking.h"
#include "core/clock.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "disk/real_disk.h"
#include "store/embedded/journal/journal.h"
#include "store/store.h"
#include "tests/crash/facts.h"
#include "tests/random/dice.h"
#include "tests/support/builders.h"

namespace {

using namespace millrace;
using namespace millrace::test;

void tell(const std::string& fact) {
  const auto line = fact + "\n";
  // The parent is gone, so this process ends.
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::_Exit(0);
}

[[noreturn]] void give_up(const Error& error) {
  tell("wrong " + error.message);
  std::_Exit(1);
}

template <class T>
T good(Result<T> result) {
  if (!result) give_up(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

std::string name_of(const Lease& lease) {
  return fmt::format("{} {}", to_text(lease.id.value), to_text(lease.token));
}

class Worker {
 public:
  Worker(Coalescer& coalescer, Clock& clock, std::uint64_t seed)
      : coalescer_(coalescer),
        clock_(clock),
        caller_(coalescer.new_caller()),
        dice_(seed),
        ids_(seed) {}

  void run() {
    while (true) {
      const auto roll = dice_.below(100);
      if (roll < 35) {
        put();
      } else {
        work();
      }
    }
  }

 private:
  void put() {
    std::vector<NewTask> tasks;
    const auto count = dice_.between(1U, 6U);
    for (std::uint32_t i = 0; i < count; ++i) {
      const TaskId id{ids_.next(clock_.now())};
      auto& task = tasks.emplace_back();
      task.id = id;
      task.queue = std::string(crash_queues.at(dice_.below(crash_queues.size())));
      task.payload = payload_of(id);
      task.priority = static_cast<std::uint8_t>(dice_.below(10));
    }
    for (const auto& put : good(put_now(coalescer_, caller_, tasks, never))) {
      tell("put " + to_text(good(put).id.value));
    }
  }

  void work() {
    Work work;
    std::vector<std::string> names;
    while (!held_.empty() && dice_.percent(80)) {
      const auto lease = held_.front();
      held_.pop_front();
      const auto roll = dice_.below(10);
      auto& settlement = work.settlements.emplace_back(roll < 7   ? done(lease, result_of(lease.id))
                                                       : roll < 9 ? retry_at(lease, clock_.now())
                                                                  : given_back(lease));
      names.push_back(fmt::format("{} {}", name_of(lease), millrace::name_of(settlement.event)));
    }
    if (!held_.empty()) {
      work.extensions.push_back({.id = held_.front().id,
                                 .token = held_.front().token,
                                 .lease = std::chrono::hours(2),
                                 .progress = 50.0});
    }
    work.takes.push_back({.worker = "crash",
                          .queues = {{crash_queues[0], 2}, {crash_queues[1], 2}},
                          .lease = std::chrono::hours(1)});
    for (const auto& name : names) tell("settling " + name);
    heard(good(work_now(coalescer_, caller_, std::move(work), never)), names);
  }

  void heard(const WorkResult& result, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto settled = good(result.settled[i]);
      if (settled.status != SettleStatus::applied) tell("wrong " + names[i] + " was not applied");
      tell("settled " + names[i]);
    }
    for (const auto& extended : result.extended) good(extended);
    for (const auto& lease : good(result.taken.front())) {
      if (lease.payload != payload_of(lease.id)) tell("wrong payload of " + name_of(lease));
      tell("taken " + name_of(lease));
      held_.push_back(lease);
    }
  }

  Coalescer& coalescer_;
  Clock& clock_;
  CallerId caller_;
  Dice dice_;
  UuidSource ids_;
  std::deque<Lease> held_;
};

int work_until_killed(const std::string& directory, std::uint64_t seed) {
  tell("begun");
  auto store =
      good(open_journal(good(open_directory(directory, DirectoryMode::make)),
                        {.segment_size = 256 * 1024, .cache_size = 32 * 1024, .hash_seed = seed}));
  SystemClock clock;
  UuidSource ids(seed ^ 1U);
  for (const auto* name : crash_queues) {
    // Everything is kept, so that the parent can look at it.
    good(store->put_queue(
        {.name = name, .id = ids.next(clock.now()), .keep_completed = {}, .keep_dead = {}},
        PutQueue::create, clock.now()));
  }
  good(store->flush());
  tell("opened");
  Coalescer coalescer(clock, *store);
  std::vector<std::thread> threads;
  constexpr std::uint64_t workers = 4;
  for (std::uint64_t i = 0; i < workers; ++i) {
    threads.emplace_back([&, i] { Worker(coalescer, clock, seed * workers + i + 2).run(); });
  }
  for (auto& thread : threads) thread.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: crash_child DIRECTORY SEED\n");
    return 2;
  }
  return work_until_killed(argv[1], std::stoull(argv[2]));
}
