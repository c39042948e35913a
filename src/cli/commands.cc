#include "cli/commands.h"

namespace millrace::cli {
namespace {

constexpr const char* about =
    "Millrace is a durable task queue. `millrace serve` is the server; the other commands speak "
    "to\n"
    "one (--server, or MILLRACE_URL), and a few work on a store that nobody serves: a directory "
    "with\n"
    "a journal (./data) or a file that a memory store saves itself to (memory:?snapshot=./tasks), "
    "or "
    "on\n"
    "a database (postgres://...), which any number may serve.";

constexpr const char* exit_codes =
    "Exit codes: 0 it worked, 1 it failed, 2 it was not understood, 3 stored data is damaged,\n"
    "4 the store failed while it was served, 5 there is no such thing, 6 the server is not\n"
    "reachable, 7 it is not allowed.\n"
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
      .example("millrace verify ./data", "is every byte of it sound?");
  add_serve(*millrace);
  add_work(*millrace);
  add_put(*millrace);
  add_task(*millrace);
  add_tasks(*millrace);
  add_bulk(*millrace);
  add_queues(*millrace);
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
