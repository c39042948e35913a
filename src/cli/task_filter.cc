#include "cli/task_filter.h"

#include "cli/flag_values.h"

namespace millrace::cli {

void takes_filter(Command& command, TaskFilter& filter) {
  command.group("Which tasks")
      .value("--queue", filter.queue, "QUEUE", "Only tasks of this queue")
      .list("--state", filter.states,
            "created|queued|delayed|processing|retrying|completed|failed|dead|cancelled",
            "Only tasks in these states; separate several with commas")
      .value("--type", filter.type, "TYPE", "Only tasks of this type")
      .value("--client", filter.client, "TEXT", "Only tasks of this client")
      .value("--group", filter.group, "TEXT", "Only tasks of this group")
      .value("--tag", filter.tag, "TAG", "Only tasks with this tag")
      .value("--priority", filter.priority, "0-9|high|medium|low", "Only tasks with this priority")
      .value("--since", filter.since, "WHEN", "Only tasks put since then: 1h (ago), or a time")
      .value("--until", filter.until, "WHEN", "Only tasks put before then")
      .group("");
}

void takes_dead_filter(Command& command, TaskFilter& filter) {
  command.group("Which tasks")
      .value("--queue", filter.queue, "QUEUE", "Only tasks of this queue")
      .value("--type", filter.type, "TYPE", "Only tasks of this type")
      .group("");
}

Result<ListRequest> request_of(const TaskFilter& filter, TimePoint now) {
  ListRequest request{
      .type = filter.type, .client_id = filter.client, .group = filter.group, .tag = filter.tag};
  if (filter.queue) request.queue = queue_of(*filter.queue);
  FlagReader read;
  const auto past = [now](std::string_view flag, std::string_view text) {
    return past_of(flag, text, now);
  };
  for (const std::string& each : filter.states) {
    TaskState state{};
    read("--state", std::optional(each), state, state_of);
    request.states.push_back(state);
  }
  read("--priority", filter.priority, request.priority, priority_of);
  read("--since", filter.since, request.created_from, past);
  read("--until", filter.until, request.created_until, past);
  if (read.error()) return std::unexpected(*read.error());
  return request;
}

}  // namespace millrace::cli
