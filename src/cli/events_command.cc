// `millrace events`: the events of tasks, as they happen.
#include <fmt/format.h>

#include "api/wire/events.h"
#include "cli/commands.h"
#include "cli/display.h"
#include "cli/flag_values.h"
#include "cli/session.h"
#include "core/time_text.h"
#include "core/uuid.h"
#include "process/signals.h"

namespace millrace::cli {
namespace {

struct Options {
  ServerOptions server = {};
  std::optional<std::string> queue = std::nullopt;
  std::optional<std::string> type = std::nullopt;
  std::optional<std::string> client = std::nullopt;
  std::vector<std::string> events = {};
  std::optional<std::string> id = std::nullopt;
  std::string after = {};
  std::optional<std::string> count = std::nullopt;
};

constexpr Duration first_pause(250);
constexpr Duration longest_pause = std::chrono::seconds(10);

Paint paint_of(EventKind what) {
  switch (what) {
    case EventKind::completed:
      return Paint::good;
    case EventKind::taken:
    case EventKind::progress:
      return Paint::busy;
    case EventKind::failed:
    case EventKind::dead:
      return Paint::bad;
    case EventKind::retrying:
    case EventKind::lost:
    case EventKind::expired:
    case EventKind::cancel_requested:
      return Paint::warning;
    default:
      return Paint::none;
  }
}

std::string remark_on(const EventRecord& event) {
  std::string text;
  if (!event.worker.empty()) text += "  by " + event.worker;
  if (!event.error_code.empty()) text += "  " + event.error_code;
  if (event.progress) text += fmt::format("  {:.0f} %", *event.progress);
  return printable(text);
}

// 17:19:34.123  completed  emails/welcome  019a...
std::string line_of(const EventRecord& event, const Look& look) {
  const std::string name(name_of(event.what));
  constexpr std::size_t widest = 16;
  const std::string gap(widest - std::min(widest, name.size()) + 1, ' ');
  const std::string queue =
      printable(event.type.empty() ? event.queue : event.queue + "/" + event.type);
  return fmt::format("{}  {}{} {:<24}  {}{}\n",
                     painted(format_time(event.at).substr(11, 12), Paint::faint, look),
                     painted(name, paint_of(event.what), look), gap, queue, to_text(event.id.value),
                     remark_on(event));
}

// {"event":"put", and the rest as in the API.
std::string json_of(const EventRecord& event) {
  return fmt::format(R"({{"event":"{}",{})", name_of(event.what), wire::text_of(event).substr(1));
}

class Follower {
 public:
  Follower(const Options& options, EventFilter filter, std::uint64_t most, Session& session)
      : filter_(std::move(filter)), most_(most), after_(options.after), session_(session) {}

  Exit run() {
    // A server that does not answer is reported at once.
    const auto there = session_.ask<std::vector<QueueView>>(
        &HttpBroker::queues,
        filter_.queue ? std::optional<QueueRef>(*filter_.queue) : std::nullopt);
    if (!there && there.error().code != ErrorCode::not_found) return session_.fail(there.error());
    Duration pause = first_pause;
    while (true) {
      const auto ended = session_.ask<std::string>(
          &HttpBroker::events, filter_, after_,
          std::function<Result<void>(const wire::StreamedEvent&)>(
              [&](const wire::StreamedEvent& news) { return tell(news); }));
      if (enough_) return Exit::ok;
      if (ended) {
        after_ = *ended;
        pause = first_pause;
        continue;
      }
      // A server that has answered before may come back; another error will not go away.
      if (ended.error().code != ErrorCode::unavailable) return session_.fail(ended.error());
      session_.console().warn(fmt::format("{}; trying again", ended.error().message));
      Signals signals;
      if (signals.wait(pause) == SignalKind::stop) return Exit::ok;
      pause = std::min(pause * 2, longest_pause);
    }
  }

 private:
  Result<void> tell(const wire::StreamedEvent& news) {
    if (!news.id.empty()) after_ = news.id;
    if (news.reset) session_.console().warn("some older events are no longer available");
    if (news.skipped != 0) {
      session_.console().warn(fmt::format("{} were skipped: there are too many per second",
                                          counted(news.skipped, "event", "events")));
    }
    if (!news.event) return {};
    if (session_.json()) {
      session_.print_json(json_of(*news.event));
    } else {
      session_.out() << line_of(*news.event, session_.look());
    }
    // Stops when the output is closed.
    enough_ = ++told_ == most_ || !session_.out().flush();
    if (enough_) return fail(ErrorCode::conflict, "enough events were printed");
    return {};
  }

  EventFilter filter_;
  std::uint64_t most_;
  std::string after_;
  Session& session_;
  std::uint64_t told_ = 0;
  bool enough_ = false;
};

Result<EventKinds> kinds_from(const std::vector<std::string>& names) {
  if (names.empty()) return all_event_kinds;
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < event_kind_count; ++i) known.push_back(name_of(EventKind(i)));
  EventKinds kinds = 0;
  for (const std::string& each : names) {
    const auto place = choice_of("--event", each, known);
    if (!place) return std::unexpected(place.error());
    kinds |= bit_of(EventKind(*place));
  }
  return kinds;
}

Exit follow(const Options& options, Session& session) {
  FlagReader read;
  std::uint64_t most = 0;
  EventFilter filter{.queue = options.queue, .type = options.type, .client_id = options.client};
  read("--count", options.count, most, [](auto flag, auto text) {
    return number_of(flag, text, 1, std::numeric_limits<std::uint32_t>::max());
  });
  if (const auto kinds = kinds_from(options.events)) {
    filter.kinds = *kinds;
  } else {
    read.refuse(kinds.error());
  }
  if (options.id) {
    const auto task = task_of(*options.id);
    if (task && std::holds_alternative<TaskId>(*task)) {
      filter.id = std::get<TaskId>(*task);
    } else {
      read.refuse({ErrorCode::invalid, "--id names a task by its UUID"});
    }
  }
  if (read.error()) return misused(*read.error(), session.console(), "events");
  return Follower(options, std::move(filter), most, session).run();
}

}  // namespace

void add_events(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& command = millrace.add("events", "Follow the events of tasks");
  command.value("--queue", options->queue, "QUEUE", "Only tasks of this queue")
      .value("--type", options->type, "TYPE", "Only tasks of this type")
      .value("--client", options->client, "TEXT", "Only tasks of this client")
      .list("--event", options->events, "EVENT",
            "Only these events: put, taken, completed, retrying, failed, dead ...; may be repeated")
      .value("--id", options->id, "UUID", "Only this task")
      .value("--after", options->after, "EVENT", "Continue after the event with this id")
      .value("-n,--count", options->count, "N", "Stop after this many events");
  takes_session(command, options->server);
  command
      .explain(
          "Runs until Ctrl-C, also when the server restarts. Over 500 events per second are too "
          "many\n"
          "for one stream; the rest is skipped and counted.")
      .example("millrace events")
      .example("millrace events --event failed,dead", "only what went wrong")
      .example("millrace events --queue emails --json | jq -r 'select(.event == \"dead\") | .id'")
      .does(in_session(options, follow));
}

}  // namespace millrace::cli
