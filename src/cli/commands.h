// Every command adds itself to the tree. One file each; commands.cc is the table.
#pragma once

#include <memory>

#include "cli/command.h"

namespace millrace::cli {

// The whole tree: millrace and all below it.
std::unique_ptr<Command> all_commands();

void add_serve(Command& millrace);
void add_work(Command& millrace);
void add_put(Command& millrace);
void add_task(Command& millrace);
void add_tasks(Command& millrace);
// Below `tasks`.
void add_bulk_changes(Command& tasks);
void add_bulk(Command& millrace);
void add_queues(Command& millrace);
void add_groups(Command& millrace);
void add_dead(Command& millrace);
void add_schedules(Command& millrace);
void add_workers(Command& millrace);
void add_events(Command& millrace);
void add_stats(Command& millrace);
void add_top(Command& millrace);
void add_bench(Command& millrace);
void add_keys(Command& millrace);
void add_completion(Command& millrace);
void add_config(Command& millrace);
void add_export(Command& millrace);
void add_import(Command& millrace);
void add_verify(Command& millrace);
void add_migrate(Command& millrace);

}  // namespace millrace::cli
