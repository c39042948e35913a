// `millrace stats [QUEUE]`: what happened since the server started.
#include <fmt/format.h>

#include "api/wire/views.h"
#include "cli/ages.h"
#include "cli/commands.h"
#include "cli/queue_view.h"
#include "cli/session.h"

namespace millrace::cli {
namespace {

struct Options {
  ServerOptions server = {};
  std::string queue = {};
};

Exit stats(const Options& options, Session& session) {
  const bool one = !options.queue.empty();
  const auto views = session.ask<std::vector<QueueView>>(
      &HttpBroker::queues, one ? std::optional<QueueRef>(options.queue) : std::nullopt);
  if (!views) return session.fail(views.error(), options.queue);
  if (session.json()) {
    session.print_json(one ? wire::stats_of(views->front())
                           : wire::view_of("queues", *views, true));
    return Exit::ok;
  }
  if (views->empty()) {
    session.console().say("There are no queues yet.");
    return Exit::ok;
  }
  session.print(stats_table(*views));
  session.console().say(
      fmt::format("since {}", moment_and_age(views->front().stats.since, session.now())));
  return Exit::ok;
}

}  // namespace

void add_stats(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& command = millrace.add("stats", "Show what happened since the server started, by queue");
  command.maybe_word("QUEUE", options->queue, "Only this queue");
  takes_session(command, options->server);
  command.explain("WAITED is from ready to taken, RAN from taken to ended; both are means.")
      .example("millrace stats")
      .example("millrace stats emails --json | jq .rates")
      .does(in_session(options, stats));
}

}  // namespace millrace::cli
