// `millrace bench`: how fast a server is, as seen from here.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <thread>

#include "cli/bench_load.h"
#include "cli/bench_report.h"
#include "cli/commands.h"
#include "cli/flag_values.h"
#include "cli/session.h"
#include "core/limits.h"
#include "core/quote.h"
#include "process/signals.h"

namespace millrace::cli {
namespace {

// `millrace bench` fills and removes only queues with this description.
constexpr std::string_view our_mark = "Made by `millrace bench`, which removes it.";
constexpr std::uint64_t most_tasks = 100'000'000;
constexpr std::size_t most_connections = 64;
constexpr std::uint64_t trickle_tasks = 200;
constexpr std::size_t least_payload = 2;  // "" is the shortest JSON text that says nothing

struct Options {
  ServerOptions server = {};
  std::optional<std::string> tasks = std::nullopt;
  std::optional<std::string> payload = std::nullopt;
  std::optional<std::string> batch = std::nullopt;
  std::optional<std::string> connections = std::nullopt;
  std::string queue = "bench";
  bool put_only = false;
  bool work_only = false;
  bool keep = false;
};

Result<BenchPlan> plan_of(const Options& options) {
  BenchPlan plan{.queue = options.queue, .keep = options.keep};
  FlagReader read;
  const auto number = [](std::uint64_t least, std::uint64_t most) {
    return [least, most](auto flag, auto text) { return number_of(flag, text, least, most); };
  };
  read("--tasks", options.tasks, plan.tasks, number(1, most_tasks));
  read("--payload", options.payload, plan.payload, number(least_payload, limits::usual_task_size));
  read("--batch", options.batch, plan.batch, number(1, limits::max_batch));
  read("--connections", options.connections, plan.connections, number(1, most_connections));
  if (options.put_only && options.work_only) {
    read.refuse({ErrorCode::invalid, "--put-only and --work-only exclude each other; give one"});
  }
  if (read.error()) return std::unexpected(*read.error());
  if (options.put_only) plan.mode = BenchMode::put_only;
  if (options.work_only) plan.mode = BenchMode::work_only;
  return plan;
}

// ---- The queue ----

struct Refused {
  Error error;
  std::string advice;
};

// Why an existing queue cannot be used.
std::optional<Refused> refusal(const QueueView& view, const BenchPlan& plan,
                               std::string_view server_flag) {
  const std::string& name = view.queue.settings.name;
  const std::uint64_t tasks = view.counts.total();
  if (view.queue.settings.description != our_mark) {
    return Refused{
        {ErrorCode::conflict, fmt::format("queue {} was not made by `millrace bench` and holds {}",
                                          in_quotes(name), counted(tasks, "task", "tasks"))},
        "Name a queue that does not exist yet: --queue NAME."};
  }
  if (tasks == 0 || plan.mode == BenchMode::work_only) return std::nullopt;
  return Refused{
      {ErrorCode::conflict, fmt::format("queue {} holds {} of an earlier bench", in_quotes(name),
                                        counted(tasks, "task", "tasks"))},
      fmt::format("Work them (--work-only), remove them (`millrace queues remove {}{} "
                  "--force`), or name another\nqueue: --queue NAME.",
                  name, server_flag)};
}

// Creates the queue, or checks that an earlier bench created it. Sets how many tasks wait in it.
// Prints what is wrong.
std::optional<Exit> prepare(const BenchPlan& plan, Session& session, std::uint64_t& waiting) {
  const auto views =
      session.ask<std::vector<QueueView>>(&HttpBroker::queues, std::optional<QueueRef>(plan.queue));
  if (views) {
    if (const auto refused = refusal(views->front(), plan, session.server_flag())) {
      session.console().fail(refused->error, refused->advice);
      return Exit::failed;
    }
    waiting = views->front().counts.ready();
    return std::nullopt;
  }
  if (views.error().code != ErrorCode::not_found) return session.fail(views.error());
  if (plan.mode == BenchMode::work_only) {
    return session.fail_missing(views.error(), "Fill it first: millrace bench --put-only --keep.");
  }
  // No finished task is kept, so that a long measurement does not fill the disk.
  QueueSettings settings{.name = plan.queue, .description = std::string(our_mark)};
  settings.keep_completed = {.for_time = Duration{}};
  settings.keep_dead = {.for_time = Duration{}};
  const auto made = session.ask<Queue>(&HttpBroker::put_queue, settings, PutQueue::create);
  if (!made) return session.fail(made.error());
  return std::nullopt;
}

void clean_up(const BenchPlan& plan, Session& session) {
  if (plan.keep) {
    session.console().say(fmt::format("Queue {} is kept.", in_quotes(plan.queue)));
    return;
  }
  const auto removed =
      session.ask<void>(&HttpBroker::remove_queue, QueueRef(plan.queue), /*force=*/true);
  if (removed || removed.error().code == ErrorCode::not_found) return;
  session.console().warn(fmt::format("queue {} could not be removed: {}", in_quotes(plan.queue),
                                     removed.error().message));
}

// ---- The run ----

std::chrono::nanoseconds cpu_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this machine";
}

// Each client has a thread that reads and writes JSON: one per two processors, so that a server on
// the same machine has some, too.
Result<std::vector<std::unique_ptr<HttpBroker>>> clients_of(const BenchPlan& plan,
                                                            Session& session) {
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency() / 2);
  std::vector<std::unique_ptr<HttpBroker>> clients;
  for (std::size_t i = 0; i < std::min(threads, plan.connections); ++i) {
    const ServerAddress& server = session.address();
    auto client = HttpBroker::open(
        session.with().clock, {.url = server.url, .key = server.key, .ca_file = server.ca_file});
    if (!client) return std::unexpected(std::move(client.error()));
    clients.push_back(std::move(*client));
  }
  return clients;
}

Exit measure(BenchReport& report, std::uint64_t waiting, Session& session) {
  const BenchPlan& plan = report.plan;
  auto clients = clients_of(plan, session);
  if (!clients) return session.fail(clients.error());
  Signals signals;
  BenchLoad load(std::move(*clients), plan, session.with().clock, signals,
                 [&](std::string_view what, std::uint64_t done, std::uint64_t total) {
                   session.console().progress(what, done, total);
                 });
  const auto cpu = cpu_time();
  if (plan.mode != BenchMode::work_only) report.put = load.put();
  if (plan.mode != BenchMode::put_only && !load.stopped()) {
    report.work = load.work(report.put ? report.put->tasks : waiting);
  }
  report.client_cpu = cpu_time() - cpu;
  if (plan.mode == BenchMode::both && !load.stopped() && report.errors() == 0) {
    report.trickle = load.trickle(std::min(trickle_tasks, plan.tasks));
  }
  report.stopped = load.stopped();
  return Exit::ok;
}

const Error* first_error(const BenchReport& report) {
  if (report.put && report.put->error) return &*report.put->error;
  if (report.work && report.work->error) return &*report.work->error;
  if (report.trickle && report.trickle->error) return &*report.trickle->error;
  return nullptr;
}

Exit bench(const Options& options, Session& session) {
  auto plan = plan_of(options);
  if (!plan) return misused(plan.error(), session.console(), "bench");
  BenchReport report{.plan = std::move(*plan), .url = session.address().url, .host = host_name()};
  auto server = wait_for_answer<wire::ServerInfo>(
      [&](Completion<wire::ServerInfo> done) { session.broker().check(std::move(done)); });
  if (!server) return session.fail(server.error());
  report.server = std::move(*server);
  std::uint64_t waiting = 0;
  if (const auto exit = prepare(report.plan, session, waiting)) return *exit;
  const Exit exit = measure(report, waiting, session);
  clean_up(report.plan, session);
  if (exit != Exit::ok) return exit;
  if (session.json()) {
    session.print_json(json_of(report));
  } else {
    session.out() << text_of(report, session.look());
  }
  if (const Error* error = first_error(report)) return session.fail(*error);
  return report.stopped ? Exit::failed : Exit::ok;
}

}  // namespace

void add_bench(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& command = millrace.add("bench", "Measure how fast a server is, as seen from here");
  command.value("-n,--tasks", options->tasks, "N", "Number of tasks to put and work [100000]")
      .value("--payload", options->payload, "BYTES", "Bytes per payload [200]")
      .value("--batch", options->batch, "N", "Tasks per request [100]")
      .value("-c,--connections", options->connections, "N", "Concurrent requests [8]")
      .value("--queue", options->queue, "QUEUE",
             "Queue to create for the run and remove afterwards [bench]")
      .flag("--put-only", options->put_only, "Do not work them")
      .flag("--work-only", options->work_only, "Only work tasks left by --put-only --keep")
      .flag("--keep", options->keep, "Keep the queue and its tasks")
      .flag("--json", options->server.json, "Print one JSON object, for programs");
  takes_server(command, options->server);
  command
      .explain(
          "Puts tasks, works them with a worker that does nothing, then puts a few one at a time "
          "while a\n"
          "worker waits, and prints rates and latencies. Everything is measured here: network and "
          "client\n"
          "are part of it. Needs a key with the scope admin, since a queue is made and removed; a "
          "queue\n"
          "that it did not make is never touched. Ctrl-C stops, cleans up and prints what was "
          "measured.")
      .example("millrace bench")
      .example("millrace bench --batch 1 --connections 32", "one task per request, many at a time")
      .example("millrace bench --server http://queue.internal:7070 --payload 4096 --json")
      .does(in_session(options, bench));
}

}  // namespace millrace::cli
