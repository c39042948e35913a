#include "worker/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "core/ascii.h"
#include "core/clip.h"
#include "core/limits.h"
#include "core/utf8.h"

namespace millrace::worker {
namespace {

constexpr std::size_t most_shown = 200;  // most bytes of a body shown in a message

std::optional<int> number_at(std::string_view text, std::size_t at, std::size_t length) {
  int value = 0;
  const char* begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, begin + length, value);
  if (error != std::errc() || end != begin + length || value < 0) return std::nullopt;
  return value;
}

// Sun, 06 Nov 1994 08:49:37 GMT: the only form that servers still send.
std::optional<TimePoint> http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT" ||
      text[7] != ' ' || text[11] != ' ' || text[16] != ' ' || text[19] != ':' || text[22] != ':') {
    return std::nullopt;
  }
  const auto month = std::ranges::find(months, text.substr(8, 3));
  const auto day = number_at(text, 5, 2);
  const auto year = number_at(text, 12, 4);
  const auto hour = number_at(text, 17, 2);
  const auto minute = number_at(text, 20, 2);
  const auto second = number_at(text, 23, 2);
  if (month == months.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::chrono::year_month_day date(
      std::chrono::year(*year),
      std::chrono::month(static_cast<unsigned>(month - months.begin() + 1)),
      std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  return std::chrono::time_point_cast<Duration>(
      std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
      std::chrono::seconds(*second));
}

std::string start_of(const std::string& body) {
  if (body.empty()) return {};
  if (!is_utf8(body) && !is_utf8(clip(body, most_shown))) return " with a body that is not text";
  std::string text = clip(body, most_shown);
  std::ranges::replace_if(text, [](char c) { return c >= 0 && c < ' '; }, ' ');
  return fmt::format(": {}", text);
}

Outcome refused(const outgoing::HttpReply& reply, std::string_view who, TimePoint now) {
  TaskError error{
      .code = fmt::format("http_{}", reply.status),
      .message = fmt::format("{} answered {}{}", who, reply.status, start_of(reply.body)),
      .details = is_utf8(reply.body) ? clip(reply.body, limits::max_error_text) : ""};
  const bool redirects = reply.status >= 300 && reply.status < 400;
  if (redirects) {
    error.message = fmt::format(
        "{} answered {}, a redirect, and redirects are not followed; give the address itself", who,
        reply.status);
  }
  const bool passes =
      reply.status == 408 || reply.status == 425 || reply.status == 429 || reply.status >= 500;
  if (!passes) return Failed{.error = std::move(error), .retryable = false};
  if (const auto at = retry_after(reply.header("retry-after"), now)) {
    return RetryAt{.at = *at, .error = std::move(error)};
  }
  return Failed{.error = std::move(error), .retryable = true};
}

}  // namespace

std::optional<TimePoint> retry_after(std::string_view header, TimePoint now) {
  while (header.starts_with(' ')) header.remove_prefix(1);
  while (header.ends_with(' ')) header.remove_suffix(1);
  if (header.empty()) return std::nullopt;
  const TimePoint latest = later(now, longest_retry_after);
  if (std::ranges::all_of(header, ascii::is_digit)) {
    std::int64_t seconds = 0;
    const auto read = std::from_chars(header.data(), header.data() + header.size(), seconds);
    const auto most = std::chrono::duration_cast<std::chrono::seconds>(longest_retry_after).count();
    if (read.ec != std::errc() || seconds > most) return latest;
    return later(now, std::chrono::seconds(seconds));
  }
  const auto date = http_date(header);
  if (!date) return std::nullopt;
  return std::clamp(*date, now, latest);
}

Outcome judge(const Result<outgoing::HttpReply>& reply, std::string_view who, TimePoint now) {
  if (reply && reply->status >= 200 && reply->status < 300) return Done{.result = reply->body};
  if (reply) return refused(*reply, who, now);
  const Error& why = reply.error();
  switch (why.code) {
    case ErrorCode::too_large:
      return Failed{
          .error = {.code = "answer_too_large", .message = fmt::format("{}: {}", who, why.message)},
          .retryable = false};
    case ErrorCode::invalid:
      return Failed{.error = {.code = "request_setup_error",
                              .message = fmt::format("{} was not called: {}", who, why.message)},
                    .retryable = false};
    default:
      return Failed{.error = {.code = "connection_error",
                              .message = fmt::format("no answer from {}: {}", who, why.message)},
                    .retryable = true};
  }
}

std::string status_of(const Result<outgoing::HttpReply>& reply) {
  if (reply) return fmt::format("{}", reply->status);
  // A reader of the task need not learn which private address a name has here; the error of the
  // delivery itself says it.
  if (reply.error().code == ErrorCode::invalid) {
    return "not sent: the address is not allowed, or cannot be called";
  }
  return clip(reply.error().message, limits::max_log_line);
}

bool fits_header(std::string_view value) {
  return std::ranges::all_of(value, [](char c) { return c >= ' ' && c < 0x7F; });
}

std::string header_text(std::string_view value) {
  if (fits_header(value)) return std::string(value);
  constexpr std::string_view marks = "!#$&+-.^_`|~";
  std::string out = "UTF-8''";
  for (const char c : value) {
    if (ascii::is_letter_or_digit(c) || marks.contains(c)) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

void add_header(outgoing::Headers& headers, std::string_view name, std::string_view value) {
  if (!value.empty()) headers.emplace_back(name, header_text(value));
}

}  // namespace millrace::worker
