// The beat of a worker: its report and the instructions it gets. Both ways, for the server and for
// its client.
#pragma once

#include <string>
#include <string_view>

#include "api/wire/fields.h"
#include "api/wire/input.h"
#include "broker/broker.h"

namespace millrace::wire {

void fields(A<QueueReport> auto& of, auto& visit) {
  visit("queue", required(of.queue)), visit("processors", always(of.processors));
  visit("most", always(of.most)), visit("busy", always(of.busy));
  visit("handled", of.handled), visit("errors", of.errors), visit("retried", of.retried);
  visit("busy_ms", of.busy_time), visit("last_error", of.last_error);
}
// All fields but the name of the worker, which is in the path, or beside the report in a view.
void fields(A<WorkerReport> auto& of, auto& visit) {
  visit("processors", required(of.processors)), visit("queues", of.queues);
  visit("stopping", of.stopping);
}
void fields(A<Assignment> auto& of, auto& visit) {
  visit("queue", required(of.queue)), visit("processors", required(of.processors));
}
void fields(A<Instructions> auto& of, auto& visit) {
  visit("assignments", of.assignments);
}

// {"processors":8,"queues":[…]}
void append(std::string& out, const WorkerReport& report);
Read<WorkerReport> read_report(std::string_view text, std::string_view worker);

// {"assignments":[{"queue":…,"processors":…}]}, or {} without instructions.
void append(std::string& out, const Instructions& instructions);
Read<Instructions> read_instructions(std::string_view text);

}  // namespace millrace::wire
