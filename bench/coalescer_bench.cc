// What it costs to bring single puts of many callers to the store: 64 callers, each with one task
// of 260 bytes on its way, through the Coalescer over the memory store. Once with completions that
// post to one thread, as a server's do, and once with a blocked thread per caller. Beside them the
// store by itself: the same tasks in batches of 64, without callers.
//
// Figures are puts per second; `cpu_us` is processor time of the whole process per put.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/load.h"
#include "bench/loop.h"
#include "bench/measure.h"
#include "broker/blocking.h"
#include "broker/coalescer.h"
#include "core/uuid.h"
#include "store/embedded/memory.h"
#include "store/store.h"

namespace millrace {
namespace {

constexpr std::size_t callers = 64;
constexpr std::size_t payload_size = 260;

using bench::require;

struct Figures {
  double puts_per_second = 0;
  double cpu_us = 0;
  double items_per_round = 0;
};

// A store with one queue, and tasks for it.
class World {
 public:
  World() {
    const QueueSettings queue{.name = "emails", .id = Uuid{{1}}};
    require(store->put_queue(queue, PutQueue::create, clock.now()).has_value(),
            "a call of the Coalescer");
  }

  static NewTask task(UuidSource& ids, TimePoint now) {
    NewTask task;
    task.id = {ids.next(now)};
    task.queue = "emails";
    task.type = "send-email";
    task.payload = std::string(payload_size, 'x');
    return task;
  }

  SystemClock clock;
  std::unique_ptr<Store> store = open_memory();
};

// Measures until `run` returns.
Figures measure(std::size_t puts, const std::function<void()>& run) {
  const double wall = bench::wall_seconds();
  const double cpu = bench::process_cpu_seconds();
  run();
  const auto count = static_cast<double>(puts);
  return {.puts_per_second = count / (bench::wall_seconds() - wall),
          .cpu_us = (bench::process_cpu_seconds() - cpu) * 1e6 / count};
}

void add_rounds(Figures& figures, Coalescer& coalescer) {
  const RoundsStats stats = coalescer.stats().rounds;
  figures.items_per_round = static_cast<double>(stats.items) / static_cast<double>(stats.rounds);
}

Figures with_completions(std::size_t puts) {
  World world;
  Coalescer coalescer(world.clock, *world.store);
  bench::Loop loop;
  UuidSource ids(1);
  const auto put = [&](std::uint64_t caller) {
    std::vector<NewTask> tasks;
    tasks.push_back(World::task(ids, world.clock.now()));
    coalescer.put({caller}, std::move(tasks), never, [&loop, caller](auto result) {
      require(result.has_value(), "a call of the Coalescer");
      loop.post(caller);
    });
  };
  Figures figures = measure(puts, [&] {
    std::size_t asked = 0;
    std::size_t answered = 0;
    for (; asked < callers; ++asked) put(asked);
    while (answered < puts) {
      for (const std::uint64_t caller : loop.take()) {
        ++answered;
        if (asked++ < puts) put(caller);
      }
    }
  });
  add_rounds(figures, coalescer);
  return figures;
}

Figures with_blocked_threads(std::size_t puts) {
  World world;
  Coalescer coalescer(world.clock, *world.store);
  Figures figures = measure(puts, [&] {
    std::vector<std::thread> threads;
    for (std::uint64_t caller = 0; caller < callers; ++caller) {
      threads.emplace_back([&, caller] {
        UuidSource ids(caller + 1);
        for (std::size_t i = 0; i < puts / callers; ++i) {
          std::vector<NewTask> tasks;
          tasks.push_back(World::task(ids, world.clock.now()));
          require(put_now(coalescer, {caller}, std::move(tasks), never).has_value(),
                  "a call of the Coalescer");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  add_rounds(figures, coalescer);
  return figures;
}

Figures store_alone(std::size_t puts) {
  World world;
  UuidSource ids(1);
  return measure(puts, [&] {
    for (std::size_t done = 0; done < puts; done += callers) {
      std::vector<NewTask> tasks;
      const TimePoint now = world.clock.now();
      for (std::size_t i = 0; i < callers; ++i) tasks.push_back(World::task(ids, now));
      require(world.store->put(tasks, now).has_value(), "a call of the Coalescer");
    }
  });
}

void compare(int rounds, std::size_t puts) {
  std::vector<double> cpu_completions;
  std::vector<double> cpu_blocked;
  std::vector<double> cpu_store;
  std::vector<double> items;
  const auto note = [](const Figures& figures, std::vector<double>& cpu) {
    cpu.push_back(figures.cpu_us);
    return figures.puts_per_second;
  };
  const auto ratio = bench::by_turns(
      rounds,
      [&] {
        const Figures figures = with_completions(puts);
        items.push_back(figures.items_per_round);
        return note(figures, cpu_completions);
      },
      [&] {
        note(store_alone(puts), cpu_store);
        return note(with_blocked_threads(puts), cpu_blocked);
      });
  bench::Line("coalescer/put")
      .add("durability", "none")
      .add("batch", std::uint64_t{1})
      .add("payload", std::uint64_t{payload_size})
      .add("callers", std::uint64_t{callers})
      .add("ours", ratio.ours)
      .add("blocked", ratio.yardstick)
      .add("ratio", ratio.ratio)
      .add("ratio_min", ratio.least)
      .add("ratio_max", ratio.greatest)
      .add("cpu_us", bench::median(cpu_completions))
      .add("cpu_us_blocked", bench::median(cpu_blocked))
      .add("cpu_us_store_alone", bench::median(cpu_store))
      .add("items_per_round", bench::median(items))
      .print();
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  millrace::compare(smoke ? 1 : 9, smoke ? 640 : 128'000);
  return 0;
}
