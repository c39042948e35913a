#include "api/server/response_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "core/ascii.h"

namespace millrace::api {

namespace {

std::string_view reason_of(unsigned status) {
  static constexpr std::array<std::pair<unsigned, std::string_view>, 34> reasons{{
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {507, "Insufficient Storage"},
  }};
  const auto found =
      std::ranges::lower_bound(reasons, status, {}, &std::pair<unsigned, std::string_view>::first);
  return found != reasons.end() && found->first == status ? found->second : "Status";
}

// Headers that the listener writes itself; a second one would contradict the first.
bool is_ours(std::string_view name) {
  static constexpr std::array ours{
      "Connection", "Content-Length", "Content-Type",      "Date",    "Keep-Alive",
      "Server",     "Trailer",        "Transfer-Encoding", "Upgrade", "X-Content-Type-Options"};
  return std::ranges::any_of(
      ours, [&](std::string_view own) { return ascii::equal_ignoring_case(own, name); });
}

void append_value(std::string& out, std::string_view value) {
  const std::size_t from = out.size();
  out.append(value);
  for (std::size_t i = from; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    if ((c < 0x20 && c != '\t') || c == 0x7F) out[i] = ' ';
  }
}

void append_line(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  append_value(out, value);
  out.append("\r\n");
}

}  // namespace

void append_head(std::string& out, const HeadText& head) {
  // A handler that gives no valid status must not make a response that clients cannot read.
  const unsigned status = head.status >= 200 && head.status <= 599 ? head.status : 500;
  // Workers decide what is in a result: no browser may take one for a page.
  fmt::format_to(std::back_inserter(out),
                 "HTTP/1.1 {} {}\r\nServer: millrace\r\nDate: {}\r\n"
                 "X-Content-Type-Options: nosniff\r\n",
                 status, reason_of(status), head.date);
  if (!head.keep_alive) {
    out.append("Connection: close\r\n");
  } else if (!head.http11) {
    out.append("Connection: keep-alive\r\n");
  }
  if (!is_bodiless(status)) {
    if (!head.content_type.empty()) append_line(out, "Content-Type", head.content_type);
    if (head.content_length) {
      fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", *head.content_length);
    } else if (head.http11) {
      out.append("Transfer-Encoding: chunked\r\n");
    }
  }
  if (head.headers != nullptr) {
    for (const auto& [name, value] : *head.headers) {
      if (ascii::is_http_token(name) && !is_ours(name)) append_line(out, name, value);
    }
  }
  out.append("\r\n");
}

bool is_bodiless(unsigned status) {
  return status == 204 || status == 304;
}

bool asks_to_close(const std::vector<std::pair<std::string, std::string>>& headers) {
  return std::ranges::any_of(headers, [](const auto& header) {
    return ascii::equal_ignoring_case(header.first, "Connection") &&
           ascii::equal_ignoring_case(header.second, "close");
  });
}

std::string date_text(TimePoint now) {
  using namespace std::chrono;
  static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = floor<std::chrono::days>(now);
  const year_month_day date(day);
  const hh_mm_ss time(floor<std::chrono::seconds>(now - day));
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", days[weekday(day).c_encoding()],
                     unsigned{date.day()}, months[unsigned{date.month()} - 1], int{date.year()},
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

}  // namespace millrace::api
