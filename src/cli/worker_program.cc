#include "cli/worker_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "broker/wait_for_answer.h"
#include "cli/handler_check.h"
#include "cli/work_report.h"
#include "core/store_url.h"
#include "outgoing/http_client.h"
#include "process/supervisor.h"
#include "worker/deliverer.h"
#include "worker/handlers.h"
#include "worker/worker.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration look = 500ms;        // how often --until-empty checks whether there are tasks
constexpr Duration empty_for = 1s;      // --until-empty ends after this long without tasks
constexpr Duration time_to_kill = 2s;   // for a command that does not end within its grace
constexpr Duration first_answer = 10s;  // of the server, before anything is run

std::string default_name() {
  std::array<char, 65> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {'w', 'o', 'r', 'k', 'e', 'r'};
  return fmt::format("{}-{}", host.data(), getpid());
}

// The HTTP clients of the handlers, one per endpoint.
using Clients = std::vector<std::unique_ptr<outgoing::HttpClient>>;

Result<worker::QueueHandlers> handlers_of(const config::HandlerSettings& settings, Clock& clock,
                                          const WorkerProgram& program, Clients& clients,
                                          WorkReport* report) {
  worker::QueueHandlers queue{.queue = settings.queue,
                              .concurrency = settings.concurrency,
                              .prefetch = 0,
                              .timeout = settings.timeout,
                              .grace = settings.grace + time_to_kill};
  if (auto good = check_handler(settings); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (settings.http.empty()) {
    worker::ExecOptions command{.argv = settings.exec,
                                .directory = settings.directory,
                                .memory = settings.memory ? settings.memory->bytes : 0,
                                .grace = settings.grace};
    if (report != nullptr) {
      command.echo = [report](const Lease& task, std::string_view line) {
        report->echo(task, line);
      };
    }
    queue.any = worker::run_commands(clock, std::move(command));
    if (report != nullptr) report->watch(queue);
    return queue;
  }
  auto guard = worker::parse_guard(settings.allow_private);
  if (!guard) return std::unexpected(std::move(guard.error()));
  auto files = read_files(settings);
  if (!files) return std::unexpected(std::move(files.error()));
  clients.push_back(std::make_unique<outgoing::HttpClient>(outgoing::HttpClientOptions{
      .guard = std::move(*guard), .user_agent = fmt::format("millrace/{}", program.version)}));
  if (files->secrets.empty()) files->secrets = program.secrets;
  queue.any = worker::call_endpoint(*clients.back(), {.url = settings.http,
                                                      .headers = std::move(files->headers),
                                                      .secrets = std::move(files->secrets)});
  return queue;
}

// A handler that cannot work does not keep the others from working.
std::vector<worker::QueueHandlers> all_handlers(const WorkerProgram& program, Clock& clock,
                                                Clients& clients, WorkReport* report,
                                                const Log& log) {
  std::vector<worker::QueueHandlers> queues;
  for (const auto& each : program.handlers) {
    if (auto queue = handlers_of(each, clock, program, clients, report)) {
      queues.push_back(std::move(*queue));
    } else {
      log(LogLevel::error, fmt::format("the queue is not worked: {}", queue.error().message),
          {{"queue", each.queue}, {"setting", each.where}});
    }
  }
  return queues;
}

std::uint32_t at_once(const WorkerProgram& program) {
  if (program.processors != 0) return program.processors;
  std::uint32_t sum = 0;
  for (const auto& each : program.handlers) sum += each.concurrency;
  return sum;
}

// Checks that the server answers and accepts the key. A server that is away may come back.
Result<void> greet(Broker& broker, const std::string& name) {
  auto answer = wait_for_answer<Instructions>([&](auto done) {
    broker.beat({.caller = broker.new_caller(), .deadline = later(broker.now(), first_answer)},
                {.worker = name}, std::move(done));
  });
  if (answer) return {};
  if (answer.error().code == ErrorCode::unavailable && !answer.error().untrusted) return {};
  return std::unexpected(std::move(answer.error()));
}

bool gives_tasks(const QueueView& view, TimePoint now) {
  const QueueSettings& is = view.queue.settings;
  const bool paused = is.paused_until && *is.paused_until > now;
  return is.active && !paused && view.counts.ready() != 0;
}

// Whether no task is ready, according to the server: a worker that cannot reach it would see none
// either.
bool nothing_ready(Broker& broker, const std::vector<config::HandlerSettings>& handlers) {
  for (const auto& each : handlers) {
    const auto views = wait_for_answer<std::vector<QueueView>>([&](auto done) {
      broker.queues({.caller = broker.new_caller(), .deadline = later(broker.now(), first_answer)},
                    each.queue, std::move(done));
    });
    const bool away = !views && views.error().code == ErrorCode::unavailable;
    if (away || (views && gives_tasks(views->front(), broker.now()))) return false;
  }
  return true;  // or the key may not read; then an empty take has to do
}

bool busy(const worker::Worker& worker, std::uint64_t& handled) {
  std::uint64_t sum = 0;
  bool running = false;
  for (const auto& queue : worker.metrics()) {
    sum += queue.handled;
    running = running || queue.running != 0 || queue.waiting != 0;
  }
  return running || std::exchange(handled, sum) != sum;
}

}  // namespace

Exit run_worker(const WorkerProgram& program, Broker& broker, Clock& clock, Signals& signals,
                const Log& log) {
  const std::string name = program.name.empty() ? default_name() : program.name;
  const std::string server = without_password(program.server);
  if (const auto in = greet(broker, name); !in) {
    log(LogLevel::error, in.error().message, {{"server", server}});
    return Exit::failed;
  }
  Clients clients;
  std::optional<WorkReport> report;
  if (program.verbose && program.say) report.emplace(clock, program.say, at_once(program) > 1);
  std::vector<worker::QueueHandlers> queues =
      all_handlers(program, clock, clients, report ? &*report : nullptr, log);
  if (queues.empty()) return Exit::usage;
  const auto queue_count = static_cast<std::int64_t>(queues.size());
  worker::Worker worker(clock, broker,
                        {.name = name,
                         .processors = program.processors,
                         .requests = 2,
                         .polls = 8,
                         .log = log,
                         .log_failures = !report},
                        std::move(queues));
  log(LogLevel::info, "working", {{"server", server}, {"worker", name}, {"queues", queue_count}});
  worker.start();
  std::uint64_t handled = 0;
  auto last_busy = clock.steady();
  while (signals.wait(look) != SignalKind::stop) {
    if (busy(worker, handled)) last_busy = clock.steady();
    const bool rests = clock.steady() - last_busy >= empty_for;
    if (program.until_empty && rests && nothing_ready(broker, program.handlers)) break;
  }
  // Stopping a process group signals each process, and then the supervisor signals again: that
  // counts as one request.
  if (!supervised()) signals.exit_on_the_next();
  worker.shutdown();
  const worker::Stopped stopped = worker.graceful_stop(program.shutdown_timeout);
  log(LogLevel::info, "stopped",
      {{"given_back", static_cast<std::int64_t>(stopped.given_back)},
       {"still_running", static_cast<std::int64_t>(stopped.running)}});
  return stopped.interrupted != 0 ? program.shutdown_timeout_exit : Exit::ok;
}

}  // namespace millrace::cli
