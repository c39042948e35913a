// `millrace top`: watches a server.
#include <fmt/format.h>
#include <cmath>

#include "cli/ages.h"
#include "cli/commands.h"
#include "cli/flag_values.h"
#include "cli/queue_view.h"
#include "cli/session.h"
#include "cli/task_view.h"
#include "cli/top_facts.h"
#include "cli/top_live.h"
#include "cli/top_view.h"
#include "core/time_text.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration shortest = 100ms;
constexpr Duration longest = 1h;
constexpr Duration patience = 5s;  // for an answer: the next request may succeed
constexpr std::size_t snapshot_tasks = 20;

struct Options {
  ServerOptions server = {.timeout = patience};
  std::optional<std::string> every = std::nullopt;
  bool once = false;
};

// The contents of the screen, for a file or a pipe.
void print(const TopFacts& facts, Session& session) {
  const TimePoint now = later(facts.at, facts.ahead);
  const wire::ServerInfo& server = facts.server;
  std::string line = fmt::format("millrace {} at {}, {}", server.version, session.address().url,
                                 store_text(server.store));
  if (server.started_at) line += fmt::format(", up {}", brief(now - *server.started_at));
  if (server.connections) {
    line += ", " + counted(*server.connections, "connection", "connections");
  }
  session.out() << line << "\n\n";
  if (facts.queues.empty()) {
    session.out() << "no queues yet\n";
  } else {
    session.print(queues_table(facts.queues, now));
  }
  const auto tasks = [&](std::string_view title, const std::vector<Task>& list) {
    if (list.empty()) return;
    session.out() << '\n' << title << '\n';
    session.print(table_of(list, now));
  };
  tasks("running, longest first", facts.running);
  tasks("dead letters, newest first", facts.dead);
  if (facts.refused.empty()) return;
  session.console().warn("no tasks are shown: " + facts.refused +
                         "; `millrace tasks --queue QUEUE` shows those of one queue");
}

// A terminal that can only print has no screen to draw on.
bool can_watch(const Surroundings& with) {
  const std::string term = variable(with, "TERM");
  return with.out_terminal && with.in_terminal && !term.empty() && term != "dumb";
}

Exit top(const Options& options, Session& session) {
  Duration every = 1s;
  FlagReader read;
  read("--every", options.every, every, duration_of);
  if (every < shortest || every > longest) {
    read.refuse({ErrorCode::invalid,
                 fmt::format("--every is {}, and must be from {} to {}", format_duration(every),
                             format_duration(shortest), format_duration(longest))});
  }
  if (read.error()) return misused(*read.error(), session.console(), "top");
  // Alone, so that the status of the server is that of this answer.
  const auto server = wait_for_answer<wire::ServerInfo>(
      [&](Completion<wire::ServerInfo> done) { session.broker().check(std::move(done)); });
  if (!server) return session.fail(server.error());
  auto facts = wait_for_answer<TopFacts>([&](Completion<TopFacts> done) {
    ask_facts(session.broker(), session.with().clock, snapshot_tasks, std::move(done));
  });
  if (!facts) {
    // The requests ran together; a single one shows whether the server refuses us.
    const auto alone =
        session.ask<std::vector<QueueView>>(&HttpBroker::queues, std::optional<QueueRef>{});
    return session.fail(alone ? facts.error() : alone.error());
  }
  if (session.json()) {
    session.print_json(json_of(*facts, session.address().url));
    return Exit::ok;
  }
  if (options.once || !can_watch(session.with())) {
    print(*facts, session);
    return Exit::ok;
  }
  return watch(session, every, std::move(*facts));
}

}  // namespace

void add_top(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& command = millrace.add("top", "Watch a server: queues, running tasks, dead letters");
  command.value("--every", options->every, "DURATION", "How often to refresh [1s]")
      .flag("--once", options->once, "Print once and exit")
      .flag("--json", options->server.json, "Print once as one JSON object, for programs");
  takes_server(command, options->server);
  command
      .explain(
          "A full screen on a terminal; elsewhere what --once prints. Keys: arrows or j and k\n"
          "select, Tab goes to the next pane, s and S sort, / filters, p pauses or resumes the\n"
          "selected queue, r retries dead letters, ? explains, q quits. Every change asks first.\n"
          "\n"
          "Rates are of the last minute. WAITED is from ready to taken, RAN from taken to ended;\n"
          "both are means since the server started. A refresh is five requests, however many tasks "
          "there\n"
          "are; only as many running tasks and dead letters are read as fit, those put last.")
      .example("millrace top")
      .example("millrace top --server http://queue.internal:7070 --every 5s")
      .example("millrace top --once > snapshot.txt")
      .example("millrace top --json | jq '.queues[] | .name'")
      .does(in_session(options, top));
}

}  // namespace millrace::cli
