#include "api/server/query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <charconv>

#include "core/ascii.h"
#include "core/limits.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"

namespace millrace::api {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, ascii::is_digit);
}

std::optional<std::uint64_t> whole(std::string_view text) {
  if (!all_digits(text)) return std::nullopt;
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

void page_from(Query& query, ListRequest& request) {
  if (const auto limit = query.number("limit", 1, limits::max_page)) {
    request.limit = static_cast<std::uint32_t>(*limit);
  }
  if (const auto before = query.number("cursor", 0, std::numeric_limits<std::uint64_t>::max())) {
    request.before = TaskNumber{*before};
  }
  if (query.flag("full")) request.detail = Detail::full;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_space) c = ' ';
    if (c == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = ascii::hex_digit(text[i + 1]);
      const int low = ascii::hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    out += c;
  }
  return out;
}

Segments segments_of(std::string_view path) {
  Segments segments;
  if (path.starts_with('/')) path.remove_prefix(1);
  while (!path.empty()) {
    if (segments.count == segments.parts.size()) {
      segments.too_many = true;
      return segments;
    }
    const std::size_t end = std::min(path.find('/'), path.size());
    segments.parts[segments.count++] = path.substr(0, end);
    if (end == path.size()) return segments;
    path.remove_prefix(end + 1);
    // A slash at the end makes one more part, an empty one, which no pattern has.
    if (path.empty()) segments.too_many = true;
  }
  return segments;
}

QueueRef queue_from_text(std::string_view text) {
  std::int64_t number = 0;
  if (all_digits(text)) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{}) return QueueNumber{number};
  }
  if (const auto id = uuid_from_text(text)) return *id;
  return std::string(text);
}

Result<TaskRef> task_from_text(std::string_view text) {
  if (const auto number = whole(text)) return TaskRef(TaskNumber{*number});
  const auto id = task_id_from_text(text);
  if (!id) return std::unexpected(id.error());
  return TaskRef(*id);
}

Query::Query(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decoded(pair.substr(0, equals), true);
    const auto value =
        percent_decoded(equals == pair.size() ? std::string_view() : pair.substr(equals + 1), true);
    if (!name || !value) {
      refuse("", fmt::format("the query has {}, which is not percent-encoded as it should be",
                             in_quotes(pair)));
      return;
    }
    given_.push_back({.name = *name, .value = *value});
  }
}

void Query::refuse(std::string_view name, std::string why) {
  if (error_) return;
  error_ = wire::Refusal{
      .error = {.code = ErrorCode::invalid, .message = std::move(why), .field = std::string(name)},
      .malformed = true};
}

std::optional<std::string> Query::text(std::string_view name) {
  known_.push_back(name);
  std::optional<std::string> found;
  for (Parameter& parameter : given_) {
    if (parameter.name != name) continue;
    parameter.asked = true;
    if (found) refuse(name, fmt::format("{} is given twice; give it once", name));
    found = parameter.value;
  }
  return error_ ? std::nullopt : found;
}

std::optional<std::uint64_t> Query::number(std::string_view name, std::uint64_t least,
                                           std::uint64_t most) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  const auto number = whole(*given);
  if (number && *number >= least && *number <= most) return number;
  refuse(name, fmt::format("{} is {}; allowed is a whole number from {} to {}", name,
                           in_quotes(*given), least, most));
  return std::nullopt;
}

std::optional<Duration> Query::duration(std::string_view name, Duration most) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  const auto duration = parse_duration(*given);
  if (duration && *duration <= most) return *duration;
  refuse(name, fmt::format("{} is {}; allowed is a duration such as 30s, at most {}", name,
                           in_quotes(*given), format_duration(most)));
  return std::nullopt;
}

std::optional<TimePoint> Query::moment(std::string_view name) {
  auto given = text(name);
  if (!given) return std::nullopt;
  // If the client did not encode the plus of an offset, it has become a space by now.
  if (given->size() > 6 && (*given)[given->size() - 6] == ' ') (*given)[given->size() - 6] = '+';
  const auto moment = parse_time(*given);
  if (moment) return *moment;
  refuse(name, fmt::format("{}: {}", name, moment.error().message));
  return std::nullopt;
}

bool Query::flag(std::string_view name) {
  const auto given = text(name);
  if (!given) return false;
  if (*given == "true") return true;
  if (*given != "false") {
    refuse(name, fmt::format("{} is {}; allowed is true or false", name, in_quotes(*given)));
  }
  return false;
}

std::vector<std::string> Query::list(std::string_view name) {
  known_.push_back(name);
  std::vector<std::string> all;
  for (Parameter& parameter : given_) {
    if (parameter.name != name) continue;
    parameter.asked = true;
    std::string_view rest = parameter.value;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      if (end != 0) all.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return all;
}

std::optional<wire::Refusal> Query::finish() {
  for (const Parameter& parameter : given_) {
    if (parameter.asked) continue;
    refuse(parameter.name, known_.empty()
                               ? fmt::format("the parameter {} is not known; none is allowed here",
                                             in_quotes(parameter.name))
                               : fmt::format("the parameter {} is not known; known here are {}",
                                             in_quotes(parameter.name), fmt::join(known_, ", ")));
  }
  return error_;
}

ListRequest list_from(Query& query) {
  ListRequest request;
  if (const auto queue = query.text("queue")) request.queue = queue_from_text(*queue);
  for (const std::string& name : query.list("state")) {
    std::size_t found = 0;
    while (found < state_count && name_of(TaskState(found)) != name) ++found;
    if (found == state_count) {
      query.refuse("state", fmt::format("state {} is not known; known are created, queued, "
                                        "delayed, processing, retrying, completed, failed, dead, "
                                        "cancelled",
                                        in_quotes(name)));
    } else {
      request.states.push_back(TaskState(found));
    }
  }
  request.type = query.text("type"), request.client_id = query.text("client_id");
  request.group = query.text("group"), request.tag = query.text("tag");
  if (const auto priority = query.number("priority", 0, limits::max_priority)) {
    request.priority = static_cast<std::uint8_t>(*priority);
  }
  if (const auto parent = query.text("waits_for")) {
    const auto id = task_id_from_text(*parent);
    if (!id) query.refuse("waits_for", id.error().message);
    if (id) request.waits_for = *id;
  }
  request.created_from = query.moment("created_from");
  request.created_until = query.moment("created_until");
  page_from(query, request);
  return request;
}

ListRequest dead_from(Query& query) {
  ListRequest request{.states = {TaskState::failed, TaskState::dead}};
  if (const auto queue = query.text("queue")) request.queue = queue_from_text(*queue);
  request.type = query.text("type");
  page_from(query, request);
  return request;
}

}  // namespace millrace::api
