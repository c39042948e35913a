#include "cli/new_task.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <fstream>

#include "api/wire/input.h"
#include "api/wire/names.h"
#include "api/wire/raw.h"
#include "api/wire/text_writer.h"
#include "cli/display.h"
#include "cli/flag_values.h"
#include "core/base64.h"
#include "core/limits.h"
#include "core/quote.h"
#include "outgoing/address_guard.h"

namespace millrace::cli {
namespace {

constexpr std::size_t shown_before = 30;  // of a line, before the place that is wrong
constexpr std::size_t shown_after = 30;

// "not JSON from position 7 on": the 7.
std::size_t position_in(std::string_view message) {
  constexpr std::string_view mark = "position ";
  const std::size_t at = message.find(mark);
  if (at == message.npos) return 0;
  std::size_t position = 0;
  const std::string_view rest = message.substr(at + mark.size());
  std::from_chars(rest.data(), rest.data() + rest.size(), position);
  return position;
}

// The line around a position, with a mark below it.
std::string pointed_at(std::string_view text, std::size_t position) {
  const std::size_t at = std::min(position - 1, text.size());
  const std::size_t begin = text.substr(0, at).find_last_of('\n') + 1;
  const std::size_t from = at - begin > shown_before ? at - shown_before : begin;
  const std::size_t end = std::min(text.find('\n', at), std::min(text.size(), at + shown_after));
  const std::string before = printable(text.substr(from, at - from));
  const std::string after = printable(text.substr(at, end - at));
  return fmt::format("\n  {}{}\n  {}^", before, after, std::string(columns_of(before), ' '));
}

Result<void> check_json(std::string_view text) {
  wire::Input in(text);
  in.raw();
  in.finish();
  if (in.good()) return {};
  const std::string& message = in.refusal().error.message;
  const std::size_t position = position_in(message);
  return fail(ErrorCode::invalid, fmt::format("the payload is not JSON: {}{}", message,
                                              position == 0 ? "" : pointed_at(text, position)));
}

// What the put does if a task that waits holds its key.
Result<void> add_conflict(const TaskFlags& flags, UniqueKey& unique) {
  if (flags.on_conflict) {
    const auto names = wire::names(OnConflict{});
    const auto chosen =
        choice_of("--on-conflict", *flags.on_conflict, {names.begin(), names.end()});
    if (!chosen) return std::unexpected(chosen.error());
    unique.on_conflict = OnConflict(*chosen);
  }
  const bool postpones = unique.on_conflict == OnConflict::postpone;
  if (postpones && !flags.delay && !flags.at) {
    return fail(ErrorCode::invalid,
                "--on-conflict postpone needs --delay, which each put begins again");
  }
  if (!flags.max_delay) return {};
  if (!postpones) {
    return fail(ErrorCode::invalid, "--max-delay is for --on-conflict postpone");
  }
  const auto most = duration_of("--max-delay", *flags.max_delay);
  if (!most) return std::unexpected(most.error());
  unique.max_delay = *most;
  return {};
}

Result<UniqueKey> unique_from(const TaskFlags& flags) {
  UniqueKey unique{.key = *flags.unique};
  if (flags.unique_for) {
    const auto window = duration_of("--unique-for", *flags.unique_for);
    if (!window) return std::unexpected(window.error());
    unique.scope = UniqueScope::window;
    unique.window = *window;
  }
  if (auto good = add_conflict(flags, unique); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (!flags.unique_scope) return unique;
  const auto names = wire::names(UniqueScope{});
  const auto scope = choice_of("--unique-scope", *flags.unique_scope, {names.begin(), names.end()});
  if (!scope) return std::unexpected(scope.error());
  if ((UniqueScope(*scope) == UniqueScope::window) != flags.unique_for.has_value()) {
    return fail(ErrorCode::invalid, "--unique-scope window and --unique-for go together");
  }
  unique.scope = UniqueScope(*scope);
  return unique;
}

Result<Keep> kept_for(std::string_view flag, std::string_view text) {
  const auto duration = duration_of(flag, text);
  if (!duration) return std::unexpected(duration.error());
  return Keep{.for_time = *duration};
}

// key=value, several; or one JSON object.
Result<std::string> metadata_from(const std::vector<std::string>& given) {
  if (given.empty()) return std::string();
  if (given.size() == 1 && given[0].starts_with('{')) return given[0];
  std::string out;
  wire::TextWriter writer(out);
  for (const std::string& each : given) {
    const std::size_t equals = each.find('=');
    if (equals == 0 || equals == each.npos) {
      return fail(
          ErrorCode::invalid,
          fmt::format("--meta is {}; write KEY=VALUE, or one JSON object", in_quotes(each)));
    }
    std::string key;
    wire::append(key, std::string_view(each).substr(0, equals));
    wire::append(writer.key(std::string_view(key).substr(1, key.size() - 2)),
                 std::string_view(each).substr(equals + 1));
  }
  writer.close();
  return out;
}

Result<TaskId> id_from(std::string_view flag, std::string_view text) {
  const auto task = task_of(text);
  if (task && std::holds_alternative<TaskId>(*task)) return std::get<TaskId>(*task);
  return fail(ErrorCode::invalid, fmt::format("{} is {}; write a UUID", flag, in_quotes(text)));
}

Result<std::optional<After>> after_from(const TaskFlags& flags) {
  if (flags.after.empty()) {
    if (!flags.when && !flags.otherwise) return std::nullopt;
    return fail(ErrorCode::invalid, "--when and --otherwise need --after ID");
  }
  After after;
  for (const std::string& each : flags.after) {
    const auto id = id_from("--after", each);
    if (!id) return std::unexpected(id.error());
    after.tasks.push_back(*id);
  }
  const auto choose = [](auto flag, const auto& given, auto& to) -> Result<void> {
    using Choice = std::remove_reference_t<decltype(to)>;
    if (!given) return {};
    const auto names = wire::names(Choice{});
    const auto found = choice_of(flag, *given, {names.begin(), names.end()});
    if (!found) return std::unexpected(found.error());
    to = Choice(*found);
    return {};
  };
  auto good = choose("--when", flags.when, after.when);
  if (good) good = choose("--otherwise", flags.otherwise, after.otherwise);
  if (!good) return std::unexpected(std::move(good.error()));
  return after;
}

Result<std::uint8_t> events_from(const std::vector<std::string>& given) {
  std::vector<std::string_view> names;
  for (const auto& [name, bit] : wire::callback_events) names.push_back(name);
  unsigned bits = 0;
  for (const std::string& each : given) {
    const auto found = choice_of("--callback-event", each, names);
    if (!found) return std::unexpected(found.error());
    bits |= static_cast<unsigned>(wire::callback_events.at(*found).second);
  }
  return static_cast<std::uint8_t>(bits);
}

Result<std::optional<Callback>> callback_from(const TaskFlags& flags) {
  if (!flags.callback) {
    if (flags.callback_events.empty() && !flags.callback_attempts) return std::nullopt;
    return fail(ErrorCode::invalid, "--callback-event and --callback-attempts need --callback URL");
  }
  Callback callback{.url = *flags.callback};
  if (!flags.callback_events.empty()) {
    const auto events = events_from(flags.callback_events);
    if (!events) return std::unexpected(events.error());
    callback.events = *events;
  }
  FlagReader read;
  read(
      "--callback-attempts", flags.callback_attempts, callback.max_attempts,
      [](auto flag, auto text) { return number_of(flag, text, 1, limits::max_callback_attempts); });
  if (read.error()) return std::unexpected(*read.error());
  return callback;
}

// The host of a URL, without its port and the brackets of IPv6.
std::string_view host_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return {};
  std::string_view host = url.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (const std::size_t at = host.rfind('@'); at != host.npos) host.remove_prefix(at + 1);
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

// Only what the text says: other names are resolved by the server.
bool is_private(std::string_view host) {
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  const auto address = outgoing::parse_range(host);
  return address && !outgoing::AddressGuard{.allow_private = false}.allows(address->first);
}

}  // namespace

void warn_of_private(const TaskFlags& flags, Console& console) {
  if (!flags.callback) return;
  const std::string_view host = host_of(*flags.callback);
  if (host.empty() || !is_private(host)) return;
  console.warn(
      fmt::format("{} is a private address; a server calls it only if its setting "
                  "webhooks.allow_private allows that",
                  host));
}

bool TaskFlags::any() const {
  return type || priority || delay || at || start_by || id || unique || unique_scope ||
         unique_for || on_conflict || max_delay || !tags.empty() || group || cost || client ||
         request || parent || timeout || retries || max_lost || callback ||
         !callback_events.empty() || callback_attempts || keep_for || keep_completed || keep_dead ||
         !meta.empty() || held || !after.empty() || when || otherwise;
}

void takes_payload_form(Command& command, TaskFlags& flags) {
  command.flag("--text", flags.text, "The payload is text, not JSON")
      .flag("--base64", flags.base64, "The payload is base64 of the bytes to put")
      .value("--content-type", flags.content_type, "TYPE",
             "The content type [application/json; text/plain with --text]");
}

void takes_task(Command& command, TaskFlags& flags) {
  command.value("--type", flags.type, "TYPE", "The type of the task")
      .value("--priority", flags.priority, "0-9|high|medium|low", "9 is taken first [5]")
      .values("--tag", flags.tags, "TAG", "A tag to find it by; may be repeated")
      .value("--group", flags.group, "TEXT", "The group it belongs to, such as a customer")
      .value("--cost", flags.cost, "N", "What it counts in a rate of cost [1]")
      .value("--client", flags.client, "TEXT", "The client it is done for")
      .value("--request", flags.request, "TEXT", "The request that caused it")
      .value("--timeout", flags.timeout, "DURATION", "How long a run may take")
      .value("--retries", flags.retries, "N|unlimited", "How often it is retried")
      .value("--max-lost", flags.max_lost, "N|unlimited", "How many lost workers it survives")
      .value("--callback", flags.callback, "URL", "Webhook URL, called when the task ends")
      .list("--callback-event", flags.callback_events, "completed|failed|retrying|dead|cancelled",
            "Call it for these events only [all but retrying]; separate several with commas")
      .value("--callback-attempts", flags.callback_attempts, "N", "How often to try a webhook [3]")
      .value("--keep-for", flags.keep_for, "DURATION", "How long it is kept after its end")
      .value("--keep-completed", flags.keep_completed, "DURATION",
             "... after a good end or a cancellation only; 0s: not at all")
      .value("--keep-dead", flags.keep_dead, "DURATION", "... after it has failed for good only")
      .values("--meta", flags.meta, "KEY=VALUE", "Metadata beside the payload; may be repeated");
}

void takes_moment(Command& command, TaskFlags& flags) {
  command.value("--delay", flags.delay, "DURATION", "Start it this much later")
      .value("--at", flags.at, "MOMENT", "Start it at this time: 2027-01-31T09:00:00Z")
      .value("--start-by", flags.start_by, "WHEN", "Cancel it if it has not started by this time")
      .value("--id", flags.id, "UUID", "Its id; a task that exists already is not put again")
      .value("--parent", flags.parent, "UUID", "The task that caused it")
      .value("--unique", flags.unique, "KEY",
             "Do not put it while another task of the queue holds this key")
      .value("--unique-scope", flags.unique_scope, "until_started|until_finished|window",
             "How long it holds the key [until_finished]")
      .value("--unique-for", flags.unique_for, "DURATION", "... or for this long after the put")
      .value("--on-conflict", flags.on_conflict, "keep|replace|postpone",
             "What to do to a task that holds the key and has not begun [keep]")
      .value("--max-delay", flags.max_delay, "DURATION",
             "Postpone it at most until this long after its first put")
      .list("--after", flags.after, "ID,...", "Wait until these tasks have ended; up to 1,000")
      .value("--when", flags.when, "completed|ended",
             "Wait for their completion, or for any end [completed]")
      .value("--otherwise", flags.otherwise, "cancel|hold|run",
             "What to do if one of them does not complete [cancel]")
      .flag("--hold", flags.held, "Wait for `millrace task release`");
}

Result<NewTask> task_from(const TaskFlags& flags, std::string_view queue, TimePoint now) {
  NewTask task{.queue = queue_of(queue)};
  FlagReader read;
  const auto moment = [now](std::string_view flag, std::string_view text) {
    return moment_of(flag, text, now);
  };
  task.type = flags.type.value_or("");
  task.group = flags.group.value_or(""), task.client_id = flags.client.value_or("");
  task.request_id = flags.request.value_or("");
  task.tags = flags.tags, task.held = flags.held;
  task.content_type = flags.content_type.value_or(flags.text ? "text/plain" : "");
  if (flags.base64 && !flags.content_type) task.content_type = "application/octet-stream";
  read("--cost", flags.cost, task.cost,
       [](auto flag, auto text) { return number_of(flag, text, 0, unlimited); });
  read("--priority", flags.priority, task.priority, priority_of);
  read("--delay", flags.delay, task.delay, duration_of);
  read("--at", flags.at, task.start, moment);
  read("--start-by", flags.start_by, task.start_by, moment);
  read("--id", flags.id, task.id, id_from);
  read("--timeout", flags.timeout, task.timeout, duration_of);
  read("--keep-for", flags.keep_for, task.keep_for, duration_of);
  read("--keep-completed", flags.keep_completed, task.keep_completed, kept_for);
  read("--keep-dead", flags.keep_dead, task.keep_dead, kept_for);
  if (flags.keep_for && (flags.keep_completed || flags.keep_dead)) {
    read.refuse({ErrorCode::invalid,
                 "--keep-for is for every end; leave it out beside --keep-completed and "
                 "--keep-dead"});
  }
  if (flags.retries) task.retry.emplace();
  if (task.retry) read("--retries", flags.retries, task.retry->max_retries, count_of);
  read("--parent", flags.parent, task.parent, id_from);
  read("--max-lost", flags.max_lost, task.max_lost, count_of);
  if (task.delay && task.start) {
    read.refuse({ErrorCode::invalid, "--delay and --at exclude each other; give one"});
  }
  if (!flags.unique && (flags.unique_scope || flags.unique_for)) {
    read.refuse({ErrorCode::invalid, "--unique-scope and --unique-for need --unique KEY"});
  }
  if (!flags.unique && (flags.on_conflict || flags.max_delay)) {
    read.refuse({ErrorCode::invalid, "--on-conflict and --max-delay need --unique KEY"});
  }
  if (flags.unique) {
    auto unique = unique_from(flags);
    if (!unique) return std::unexpected(std::move(unique.error()));
    task.unique = std::move(*unique);
  }
  auto after = after_from(flags);
  if (!after) return std::unexpected(std::move(after.error()));
  task.after = std::move(*after);
  auto callback = callback_from(flags);
  if (!callback) return std::unexpected(std::move(callback.error()));
  task.callback = std::move(*callback);
  auto metadata = metadata_from(flags.meta);
  if (!metadata) return std::unexpected(std::move(metadata.error()));
  task.metadata = std::move(*metadata);
  if (read.error()) return std::unexpected(*read.error());
  return task;
}

Result<std::string> payload_bytes(const std::string& argument, std::istream& in) {
  const bool from_input = argument == "-" || argument == "@-";
  const bool from_file = !from_input && argument.starts_with('@');
  if (!from_input && !from_file) return argument;
  std::ifstream file;
  if (from_file) {
    file.open(argument.substr(1), std::ios::binary);
    if (!file || file.peek() == std::ifstream::traits_type::eof()) {
      return fail(ErrorCode::not_found,
                  fmt::format("cannot read {}, or it is empty", in_quotes(argument.substr(1))));
    }
  }
  std::istream& from = from_file ? file : in;
  // One byte more than allowed shows that there is more; base64 is a third longer.
  std::string bytes(limits::max_payload * 2, '\0');
  from.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(from.gcount()));
  return bytes;
}

Result<std::string> answer_from(const std::string& argument, std::istream& in) {
  auto bytes = payload_bytes(argument, in);
  if (!bytes) return bytes;
  // The line end that echo adds is not part of JSON.
  const std::string json = bytes->substr(0, bytes->find_last_not_of(" \t\r\n") + 1);
  if (json == "null") {
    return fail(ErrorCode::invalid,
                "--data is null; write any other JSON value, or leave --data out to release the "
                "task without an answer");
  }
  if (wire::is_json(json)) *bytes = json;
  if (bytes->size() <= limits::max_answer) return bytes;
  return fail(ErrorCode::too_large, fmt::format("--data has {} bytes or more; allowed are {}",
                                                bytes->size(), limits::max_answer));
}

Result<std::string> payload_from(std::string bytes, const TaskFlags& flags) {
  if (flags.text && flags.base64) {
    return fail(ErrorCode::invalid, "--text and --base64 exclude each other; give one");
  }
  if (flags.base64) {
    std::erase_if(bytes, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
    auto decoded = base64_decode(bytes);
    if (!decoded) return std::unexpected(std::move(decoded.error()));
    bytes = std::move(*decoded);
  }
  if (bytes.size() > limits::max_payload) {
    return fail(ErrorCode::too_large,
                fmt::format("the payload has {} bytes or more; allowed are {}", bytes.size(),
                            limits::max_payload));
  }
  const bool json = !flags.text && !flags.base64 &&
                    flags.content_type.value_or("application/json") == "application/json";
  if (!json) return bytes;
  // The line end that echo adds is not part of it.
  bytes.erase(bytes.find_last_not_of(" \t\r\n") + 1);
  if (bytes.empty()) return bytes;
  if (auto good = check_json(bytes); !good) return std::unexpected(std::move(good.error()));
  return bytes;
}

}  // namespace millrace::cli
