#include "cli/flag_values.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>

#include "core/nearest.h"
#include "core/priority.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"

namespace millrace::cli {
namespace {

std::unexpected<Error> refused(std::string_view flag, std::string_view text,
                               std::string_view allowed) {
  return fail(ErrorCode::invalid, fmt::format("{} is {}; {}", flag, in_quotes(text), allowed));
}

std::optional<std::uint64_t> digits(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

}  // namespace

Result<Duration> duration_of(std::string_view flag, std::string_view text) {
  const auto duration = parse_duration(text);
  if (duration) return *duration;
  return refused(flag, text, "write a number with a unit: 250ms, 30s, 10m, 1h30m, 7d");
}

Result<TimePoint> moment_of(std::string_view flag, std::string_view text, TimePoint now) {
  if (const auto duration = parse_duration(text)) return later(now, *duration);
  if (const auto moment = parse_time(text)) return *moment;
  return refused(flag, text,
                 "write a moment (2027-01-31T09:00:00Z) or how long from now (10m, 2h)");
}

Result<TimePoint> past_of(std::string_view flag, std::string_view text, TimePoint now) {
  if (const auto duration = parse_duration(text)) return later(now, -*duration);
  if (const auto moment = parse_time(text)) return *moment;
  return refused(flag, text, "write a moment (2027-01-31T09:00:00Z) or how long ago (10m, 2h)");
}

Result<std::uint64_t> number_of(std::string_view flag, std::string_view text, std::uint64_t least,
                                std::uint64_t most) {
  const auto number = digits(text);
  if (number && *number >= least && *number <= most) return *number;
  return refused(flag, text, fmt::format("allowed are {} to {}", least, most));
}

Result<std::uint32_t> count_of(std::string_view flag, std::string_view text) {
  if (text == "unlimited") return unlimited;
  const auto number = digits(text);
  if (number && *number < unlimited) return static_cast<std::uint32_t>(*number);
  return refused(flag, text, "allowed are a whole number and unlimited");
}

Result<std::uint8_t> priority_of(std::string_view flag, std::string_view text) {
  if (const auto number = digits(text); number && *number <= 9) {
    return static_cast<std::uint8_t>(*number);
  }
  if (const auto named = priority_from(text, PriorityScale::named); named && !text.empty()) {
    return *named;
  }
  return refused(flag, text, "allowed are 0 to 9 (9 first), high, medium and low");
}

Result<Rate> rate_of(std::string_view flag, std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto most = digits(text.substr(0, slash));
  const auto per =
      slash == text.npos ? Result<Duration>(Duration{}) : parse_duration(text.substr(slash + 1));
  if (most && *most > 0 && *most < unlimited && per && *per > Duration{}) {
    return Rate{.max = static_cast<std::uint32_t>(*most), .per = *per};
  }
  return refused(flag, text, "write how many in how long: 100/1m, 5/1s");
}

Result<Keep> keep_of(std::string_view flag, std::string_view text) {
  if (text == "forever") return Keep{};
  if (text == "none") return Keep{.for_time = Duration{}};
  Keep keep;
  std::string_view left = text;
  while (!left.empty()) {
    const std::string_view part = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), part.size() + 1));
    const auto number = digits(part);
    const auto duration = parse_duration(part);
    if (number && *number < unlimited && !keep.last) {
      keep.last = static_cast<std::uint32_t>(*number);
    } else if (duration && !keep.for_time) {
      keep.for_time = *duration;
    } else {
      keep = {};
      break;
    }
  }
  if (keep.last || keep.for_time) return keep;
  return refused(flag, text,
                 "write how long (24h), how many (1000), both (24h,1000), forever or none");
}

Result<bool> bool_of(std::string_view flag, std::string_view text) {
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off") return false;
  return refused(flag, text, "allowed are true and false");
}

Result<std::size_t> choice_of(std::string_view flag, std::string_view text,
                              const std::vector<std::string_view>& names) {
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string allowed;
  for (const std::string_view each : names) {
    allowed += allowed.empty() ? "allowed are " : ", ";
    allowed += each;
  }
  const std::string_view meant = near_enough(text, names);
  if (!meant.empty()) allowed += fmt::format("; the nearest is {}", meant);
  return refused(flag, text, allowed);
}

Result<TaskState> state_of(std::string_view flag, std::string_view text) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < state_count; ++i) names.push_back(name_of(TaskState(i)));
  const auto found = choice_of(flag, text, names);
  if (!found) return std::unexpected(found.error());
  return TaskState(*found);
}

Result<TimePoint> pause_end(const std::optional<std::string>& for_time,
                            const std::optional<std::string>& until, TimePoint now) {
  TimePoint end = never;
  FlagReader read;
  const auto moment = [now](std::string_view flag, std::string_view text) {
    return moment_of(flag, text, now);
  };
  read("--for", for_time, end, moment);
  read("--until", until, end, moment);
  if (for_time && until) {
    read.refuse({ErrorCode::invalid, "--for and --until exclude each other; give one"});
  }
  if (end <= now) read.refuse({ErrorCode::invalid, "--until is in the past; give a later time"});
  if (read.error()) return std::unexpected(*read.error());
  return end;
}

QueueRef queue_of(std::string_view text) {
  if (const auto number = digits(text); number && std::in_range<std::int64_t>(*number)) {
    return QueueNumber{static_cast<std::int64_t>(*number)};
  }
  if (const auto id = uuid_from_text(text)) return *id;
  return std::string(text);
}

Result<TaskRef> task_of(std::string_view text) {
  if (const auto number = digits(text); number && *number > 0) return TaskNumber{*number};
  const auto id = task_id_from_text(text);
  if (id) return *id;
  return fail(ErrorCode::invalid,
              fmt::format("{} is not a task: write its id "
                          "(01920000-0000-7000-8000-000000000000) or its number",
                          in_quotes(text)));
}

}  // namespace millrace::cli
