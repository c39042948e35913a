// The journal store beside the bare log: the same bytes, with a checksum, in the same zero-filled
// segments, one write and one sync for the puts of a batch and one for its takes and settles.
//
//   journal_bench [--smoke] [NAME...]     lifecycle single flat open space callers; all if none
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/bare_log.h"
#include "bench/journal_load.h"
#include "bench/load.h"
#include "bench/loop.h"
#include "bench/measure.h"
#include "broker/coalescer.h"
#include "core/crc32c.h"
#include "disk/real_disk.h"
#include "store/embedded/journal/journal_store.h"
#include "store/store.h"
#include "tests/support/temporary_directory.h"

namespace millrace {
namespace {

using bench::disk_of;
using bench::Load;
using bench::open_store;
using bench::require;
using bench::segment_size;
using test::TemporaryDirectory;
using Ours = bench::JournalLoad;

std::uint64_t bytes_in(const TemporaryDirectory& directory) {
  std::uint64_t sum = 0;
  const auto entries = disk_of(directory)->list().value();
  for (const auto& entry : entries) sum += entry.size;
  return sum;
}

// How many bytes one batch of puts, and of takes and settles, writes.
struct BatchBytes {
  std::size_t puts = 0;
  std::size_t works = 0;
};

BatchBytes batch_bytes(std::size_t batch) {
  Ours ours(batch);
  ours.load().put();
  ours.live();
  const auto end = [&] { return ours.store().log_end().offset; };
  const auto before = end();
  ours.load().put();
  const auto between = end();
  ours.load().work();
  return {between - before, end() - between};
}

// The yardstick of the design.
class Yardstick {
 public:
  void append(std::string& bytes) { log_.append(bytes); }

  double run(std::size_t batches, std::size_t batch, const BatchBytes& bytes) {
    std::string puts(bytes.puts, 'x');
    std::string works(bytes.works, 'y');
    const double before = bench::wall_seconds();
    for (std::size_t i = 0; i < batches; ++i) {
      append(puts);
      append(works);
    }
    return static_cast<double>(batches * batch) / (bench::wall_seconds() - before);
  }

 private:
  TemporaryDirectory directory_;
  bench::BareLog log_{directory_.path()};
};

bench::Line line_of(std::string_view name, std::size_t batch, std::size_t waiting,
                    std::string_view yardstick, const bench::Ratio& ratio) {
  bench::Line line(name);
  line.add("durability", "fsync")
      .add("batch", std::uint64_t{batch})
      .add("payload", std::uint64_t{Load::payload_size})
      .add("waiting", std::uint64_t{waiting})
      .add("ours", ratio.ours)
      .add(yardstick, ratio.yardstick)
      .add("ratio", ratio.ratio)
      .add("ratio_min", ratio.least)
      .add("ratio_max", ratio.greatest);
  return line;
}

struct Scale {
  int rounds = 9;
  std::size_t lives = 100'000;  // of tasks, per round
  std::size_t waiting = 1'000'000;
  std::size_t many_waiting = 10'000'000;
  std::size_t few_waiting = 10'000;
  std::size_t churn = 10'000'000;
};

void lifecycle(const Scale& scale) {
  for (const std::size_t batch : {std::size_t{100}, std::size_t{1000}}) {
    const BatchBytes bytes = batch_bytes(batch);
    Ours ours(batch);
    ours.fill(scale.waiting);
    Yardstick log;
    const std::size_t batches = std::max<std::size_t>(1, scale.lives / batch);
    const auto ratio = bench::by_turns(
        scale.rounds, [&] { return ours.run(batches); },
        [&] { return log.run(batches, batch, bytes); });
    line_of("journal/lifecycle", batch, scale.waiting, "bare_log", ratio)
        .add("bytes_per_task",
             static_cast<double>(bytes.puts + bytes.works) / static_cast<double>(batch))
        .add("longest_call_ms", ours.load().longest_call_ms())
        .print();
  }
}

// One put alone: how long it takes, beside one write and sync of the same bytes. Microseconds.
void single(const Scale& scale) {
  const BatchBytes bytes = batch_bytes(1);
  Ours ours(1);
  ours.fill(10'000);
  Yardstick log;
  const std::size_t times = scale.rounds == 1 ? 10 : 500;
  const auto median_us = [&](const auto& act) {
    std::vector<double> each;
    for (std::size_t i = 0; i < times; ++i) {
      const double before = bench::wall_seconds();
      act();
      each.push_back((bench::wall_seconds() - before) * 1e6);
    }
    return bench::median(each);
  };
  std::string put(bytes.puts, 'x');
  const auto ratio = bench::by_turns(
      scale.rounds,
      [&] {
        return median_us([&] {
          ours.load().put();
          ours.load().flush();
        });
      },
      [&] { return median_us([&] { log.append(put); }); });
  line_of("journal/single", 1, 10'000, "bare_sync", ratio).add("unit", "microseconds").print();
}

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0;
  std::ifstream statm("/proc/self/statm");
  statm >> pages >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// The rate with many tasks waiting beside that with few; and the memory that a waiting task takes.
void flat(const Scale& scale) {
  constexpr std::size_t batch = 100;
  malloc_trim(0);
  const std::uint64_t before = resident_bytes();
  Ours many(batch);
  many.fill(scale.many_waiting);
  malloc_trim(0);
  const double bytes =
      static_cast<double>(resident_bytes() - before) / static_cast<double>(scale.many_waiting);
  Ours few(batch);
  few.fill(scale.few_waiting);
  const std::size_t batches = std::max<std::size_t>(1, scale.lives / 4 / batch);
  const auto ratio = bench::by_turns(
      scale.rounds, [&] { return many.run(batches); }, [&] { return few.run(batches); });
  line_of("journal/flat", batch, scale.many_waiting, "few_waiting", ratio)
      .add("few", std::uint64_t{scale.few_waiting})
      .add("resident_bytes_per_task", bytes)
      .print();
}

// Opening: beside reading the files, checking their bytes and putting the ids into a map.
void open_again(const Scale& scale) {
  TemporaryDirectory directory;
  std::vector<Uuid> ids;
  {
    const auto store = open_store(directory);
    Load load(*store, 1000);
    for (std::size_t filled = 0; filled < scale.waiting; filled += 1000) {
      load.put();
      load.flush();
    }
  }
  UuidSource source(9);
  for (std::size_t i = 0; i < scale.waiting; ++i) ids.push_back(source.next(TimePoint{}));
  const auto yardstick = [&] {
    const double before = bench::wall_seconds();
    const auto disk = disk_of(directory);
    std::string bytes(segment_size, '\0');
    std::uint32_t checksum = 0;
    const auto entries = disk->list().value();
    for (const auto& entry : entries) {
      if (!embedded::segment_number(entry.name)) continue;
      const auto file = disk->open(entry.name, Disk::Access::read).value();
      const auto got = read_all(*disk, file, 0, bytes).value();
      checksum = crc32c(checksum, std::string_view(bytes).substr(0, got));
      disk->close(file);
    }
    boost::unordered_flat_map<Uuid, std::uint64_t, UuidHash> map;
    for (const Uuid& id : ids) map.emplace(id, checksum);
    require(map.size() == ids.size(), "map");
    return static_cast<double>(scale.waiting) / (bench::wall_seconds() - before);
  };
  const auto ours = [&] {
    embedded::JournalStore store(disk_of(directory), {.read_only = true});
    const double before = bench::wall_seconds();
    require(store.open().has_value(), "open");
    const double seconds = bench::wall_seconds() - before;
    require(store.state().task_count() == scale.waiting, "every task");
    return static_cast<double>(scale.waiting) / seconds;
  };
  const auto ratio = bench::by_turns(scale.rounds, ours, yardstick);
  line_of("journal/open", 1000, scale.waiting, "read_and_insert", ratio).print();
}

// The size on disk while tasks come and go and so many are always alive.
void space(const Scale& scale) {
  Ours ours(1000);
  ours.fill(scale.waiting);
  const double record = static_cast<double>(batch_bytes(1000).puts) / 1000;
  const double live = record * static_cast<double>(scale.waiting);
  double most = 0;
  double last = 0;
  double longest = 0;
  for (std::size_t done = 0; done < scale.churn; done += 1000) {
    const double before = bench::wall_seconds();
    ours.live();
    longest = std::max(longest, bench::wall_seconds() - before);
    if (done % 100'000 != 0) continue;
    last = static_cast<double>(bytes_in(ours.directory()));
    most = std::max(most, last);
  }
  bench::Line("journal/space")
      .add("segment", std::uint64_t{segment_size})
      .add("payload", std::uint64_t{Load::payload_size})
      .add("waiting", std::uint64_t{scale.waiting})
      .add("churn", std::uint64_t{scale.churn})
      .add("ours", most)
      .add("live_data", live)
      .add("ratio", most / live)
      .add("ratio_at_end", last / live)
      .add("ratio_to_payloads", most / static_cast<double>(scale.waiting * Load::payload_size))
      .add("longest_round_ms", longest * 1e3)
      .add("longest_call_cpu_ms", ours.load().longest_call_ms())
      .print();
}

// 64 callers, each with one task at a time: puts it, takes one, finishes it with the next take. All
// go through the Coalescer, which makes few commits of them.
void callers(const Scale& scale) {
  constexpr std::size_t count = 64;
  TemporaryDirectory directory;
  const auto store = open_store(directory);
  Load load(*store, 1000);
  for (std::size_t filled = 0; filled < scale.waiting / 10; filled += 1000) load.put();
  load.flush();
  SystemClock clock;
  Coalescer coalescer(clock, *store);
  bench::Loop loop;
  UuidSource ids(3);
  std::vector<bool> working(count);
  std::vector<Work> next(count);
  const auto put = [&](std::uint64_t caller) {
    std::vector<NewTask> tasks(1);
    tasks[0] = {.id = {ids.next(clock.now())},
                .queue = "emails",
                .type = "send-email",
                .payload = std::string(Load::payload_size, 'x')};
    coalescer.put({caller}, std::move(tasks), never, [&loop, caller](auto result) {
      require(result && result->front(), "put");
      loop.post(caller);
    });
  };
  const auto work = [&](std::uint64_t caller) {
    Work request = std::exchange(next[caller], {});
    request.takes = {{.worker = "w", .queues = {{"emails", 1}}}};
    coalescer.work({caller}, std::move(request), never, [&, caller](auto result) {
      require(result && result->taken.front() && result->taken.front()->size() == 1, "work");
      const Lease& lease = result->taken.front()->front();
      next[caller].settlements = {{.id = lease.id, .expect = Held{lease.token}}};
      loop.post(caller);
    });
  };
  const std::size_t lives = scale.lives / 2;
  const double wall = bench::wall_seconds();
  const double cpu = bench::process_cpu_seconds();
  for (std::uint64_t caller = 0; caller < count; ++caller) put(caller);
  std::size_t finished = 0;
  std::size_t on_their_way = count;
  while (on_their_way != 0) {
    for (const std::uint64_t caller : loop.take()) {
      --on_their_way;
      working[caller] = !working[caller];
      if (!working[caller] && ++finished + count > lives) continue;
      ++on_their_way;
      working[caller] ? work(caller) : put(caller);
    }
  }
  const double seconds = bench::wall_seconds() - wall;
  const auto rounds = coalescer.stats().rounds;
  bench::Line("journal/callers")
      .add("durability", "fsync")
      .add("callers", std::uint64_t{count})
      .add("payload", std::uint64_t{Load::payload_size})
      .add("waiting", std::uint64_t{scale.waiting / 10})
      .add("ours", static_cast<double>(finished) / seconds)
      .add("items_per_round",
           static_cast<double>(rounds.items) / static_cast<double>(rounds.rounds))
      .add("cpu_us_per_task",
           (bench::process_cpu_seconds() - cpu) * 1e6 / static_cast<double>(finished))
      .print();
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  using namespace millrace;
  std::vector<std::string> names(argv + 1, argv + argc);
  Scale scale;
  if (std::erase(names, "--smoke") != 0) {
    scale = {.rounds = 1,
             .lives = 1000,
             .waiting = 10'000,
             .many_waiting = 20'000,
             .few_waiting = 1000,
             .churn = 10'000};
  }
  const auto wanted = [&](std::string_view name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
  };
  if (wanted("lifecycle")) lifecycle(scale);
  if (wanted("single")) single(scale);
  if (wanted("flat")) flat(scale);
  if (wanted("open")) open_again(scale);
  if (wanted("space")) space(scale);
  if (wanted("callers")) callers(scale);
  return 0;
}
