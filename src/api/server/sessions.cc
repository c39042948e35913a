#include "api/server/sessions.h"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>

#include "core/ascii.h"

namespace millrace::api {
namespace {

constexpr std::string_view plain_name = "millrace_session";

bool is_secure(const HttpRequest& head) {
  return head.tls || head.forwarded_proto.starts_with("https");  // the first of several
}

}  // namespace

std::string cookie_name(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::string_view port = colon == host.npos ? "" : host.substr(colon + 1);
  const bool is_port =
      !port.empty() && port.size() <= 5 && std::ranges::all_of(port, ascii::is_digit);
  return is_port ? fmt::format("{}_{}", plain_name, port) : std::string(plain_name);
}

std::string_view session_of(const HttpRequest& head) {
  if (head.cookie.empty()) return {};
  const std::string name = cookie_name(head.host);
  std::string_view rest = head.cookie;
  while (!rest.empty()) {
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    const std::string_view pair = rest.substr(0, std::min(rest.find(';'), rest.size()));
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=') {
      return pair.substr(name.size() + 1);
    }
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
  }
  return {};
}

std::string cookie_text(const HttpRequest& head, std::string_view text, std::string_view path,
                        Duration lasts) {
  const auto seconds = text.empty() ? 0 : std::chrono::floor<std::chrono::seconds>(lasts).count();
  return fmt::format("{}={}; Path={}; Max-Age={}; HttpOnly; SameSite=Strict{}",
                     cookie_name(head.host), text, path, seconds,
                     is_secure(head) ? "; Secure" : "");
}

}  // namespace millrace::api
