#include "cli/commands.h"

namespace millrace::cli {
namespace {

constexpr const char* about =
    "Millrace is a durable task queue. `millrace serve` is the server; most other commands talk\n"
    "to one (--server, or MILLRACE_URL). A few open a store that no server has open: a directory\n"
    "with a journal (./data), a file that a memory store saves itself to\n"
    "(memory:?snapshot=./tasks), or a database (postgres://...), which several may share.";

constexpr const char* exit_codes =
    "Exit codes: 0 success, 1 failure, 2 wrong usage, 3 stored data is damaged, 4 the store\n"
    "failed while it was served, 5 the task, queue, schedule or key does not exist, 6 the server\n"
    "is not reachable, 7 the API key does not allow it.\n"
    "`millrace COMMAND --help` explains a command and shows examples.";

}  // namespace

std::unique_ptr<Command> all_commands() {
  auto millrace = std::make_unique<Command>("millrace", about);
  millrace->explain(exit_codes)
      .example("millrace serve", "a server on 127.0.0.1:7070, tasks in ./data")
      .example("millrace put emails '{\"to\":\"ann@example.org\"}'", "a task")
      .example("millrace work emails -- ./send-mail", "a command for every task of a queue")
      .example("millrace queues", "what waits, runs and has failed")
      .example("millrace tasks --queue emails --state dead", "which tasks those are")
      .example("millrace keys create --name ops --scope admin", "an API key")
      .example("millrace export ./data --output backup.jsonl", "everything in ./data")
      .example("millrace verify ./data", "checks every byte of it");
  add_serve(*millrace);
  add_work(*millrace);
  add_put(*millrace);
  add_task(*millrace);
  add_tasks(*millrace);
  add_bulk(*millrace);
  add_queues(*millrace);
  add_groups(*millrace);
  add_dead(*millrace);
  add_schedules(*millrace);
  add_workers(*millrace);
  add_events(*millrace);
  add_stats(*millrace);
  add_top(*millrace);
  add_bench(*millrace);
  add_keys(*millrace);
  add_config(*millrace);
  add_export(*millrace);
  add_import(*millrace);
  add_verify(*millrace);
  add_migrate(*millrace);
  add_completion(*millrace);
  return millrace;
}

}  // namespace millrace::cli
