#include "cli/worker_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "api/client/http_broker.h"
#include "broker/wait_for_answer.h"
#include "outgoing/http_client.h"
#include "worker/handlers.h"
#include "worker/worker.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration look = 500ms;        // how often it looks whether there is anything to do
constexpr Duration empty_for = 1s;      // so long nothing to do is the end of --until-empty
constexpr Duration first_answer = 10s;  // of the server, before anything is run

std::string default_name() {
  std::array<char, 65> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {'w', 'o', 'r', 'k', 'e', 'r'};
  return fmt::format("{}-{}", host.data(), getpid());
}

worker::QueueHandlers handlers_of(const config::HandlerSettings& settings,
                                  outgoing::HttpClient& client) {
  worker::QueueHandlers queue{.queue = settings.queue,
                              .concurrency = settings.concurrency,
                              .prefetch = 0,
                              .timeout = settings.timeout,
                              .grace = settings.grace};
  if (settings.http.empty()) {
    queue.any = worker::run_commands(
        {.command = settings.exec,
         .directory = settings.directory,
         .memory = settings.memory ? std::optional(settings.memory->bytes) : std::nullopt,
         .grace = settings.grace});
  } else {
    queue.any = worker::call_endpoint(client, {.url = settings.http});
  }
  return queue;
}

// Whether somebody answers there, and lets us in. A server that is away may come back.
Result<void> greet(Broker& broker, const std::string& name) {
  auto answer = wait_for_answer<Instructions>([&](auto done) {
    broker.beat({.caller = broker.new_caller(), .deadline = later(broker.now(), first_answer)},
                {.worker = name}, std::move(done));
  });
  if (answer || answer.error().code == ErrorCode::unavailable) return {};
  return std::unexpected(std::move(answer.error()));
}

bool busy(const worker::Worker& worker, std::uint64_t& processed) {
  std::uint64_t sum = 0;
  bool running = false;
  for (const auto& queue : worker.figures()) {
    sum += queue.stats.processed;
    running = running || queue.running != 0 || queue.waiting != 0;
  }
  return running || std::exchange(processed, sum) != sum;
}

}  // namespace

Exit run_worker(const WorkerProgram& program, Clock& clock, Signals& signals, const Log& log) {
  const std::string name = program.name.empty() ? default_name() : program.name;
  auto broker = connect(clock, {.url = program.server, .key = program.key});
  if (!broker) {
    log(LogLevel::error, broker.error().message);
    return Exit::usage;
  }
  if (const auto in = greet(**broker, name); !in) {
    log(LogLevel::error, in.error().message, {{"server", program.server}});
    return Exit::failed;
  }
  outgoing::HttpClient client({.user_agent = fmt::format("millrace/{}", program.version)});
  std::vector<worker::QueueHandlers> queues;
  for (const auto& each : program.handlers) queues.push_back(handlers_of(each, client));
  worker::Worker worker(clock, **broker, {.name = name, .log = log}, std::move(queues));
  log(LogLevel::info, "working",
      {{"server", program.server},
       {"worker", name},
       {"queues", static_cast<std::int64_t>(program.handlers.size())}});
  worker.start();
  std::uint64_t processed = 0;
  auto last_busy = clock.steady();
  while (signals.wait(look) != Told::stop) {
    if (busy(worker, processed)) last_busy = clock.steady();
    if (program.until_empty && clock.steady() - last_busy >= empty_for) break;
  }
  signals.exit_on_the_next();
  worker.shutdown();
  const worker::Stopped stopped = worker.graceful_stop(program.shutdown_timeout);
  log(LogLevel::info, "stopped",
      {{"given_back", static_cast<std::int64_t>(stopped.given_back)},
       {"still_running", static_cast<std::int64_t>(stopped.running)}});
  return stopped.interrupted != 0 ? program.shutdown_timeout_exit : Exit::ok;
}

}  // namespace millrace::cli
