#include "config/address.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <vector>

#include "core/quote.h"

namespace millrace::config {
namespace {

constexpr auto npos = std::string_view::npos;

std::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(ErrorCode::invalid, fmt::format("{} is not an address: {}; write 127.0.0.1:7070, "
                                              "[::1]:7070 or, for every network, 0.0.0.0:7070",
                                              in_quotes(text), why));
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// A whole number in `base` with at most `digits` digits and nothing else.
bool number(std::string_view text, int base, std::size_t digits, unsigned most, unsigned& value) {
  if (text.empty() || text.size() > digits) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && value <= most;
}

bool is_ipv4(std::string_view host) {
  const auto parts = split(host, '.');
  return parts.size() == 4 && std::ranges::all_of(parts, [](std::string_view part) {
           unsigned value = 0;
           return number(part, 10, 3, 255, value) && (part.size() == 1 || part[0] != '0');
         });
}

// Groups of hexadecimal digits; the last one may be an IPv4 address. -1: not that.
int groups_of(std::string_view text, bool last) {
  if (text.empty()) return 0;
  int groups = 0;
  const auto parts = split(text, ':');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    unsigned value = 0;
    if (last && i + 1 == parts.size() && is_ipv4(parts[i])) {
      groups += 2;
    } else if (number(parts[i], 16, 4, 0xffff, value)) {
      ++groups;
    } else {
      return -1;
    }
  }
  return groups;
}

bool is_ipv6(std::string_view host) {
  const std::size_t gap = host.find("::");
  if (gap == npos) return groups_of(host, true) == 8;
  const int before = groups_of(host.substr(0, gap), false);
  const int after = groups_of(host.substr(gap + 2), true);
  return before >= 0 && after >= 0 && before + after <= 7;
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == npos) return bad(text, "there is no port");
  unsigned port = 0;
  if (!number(text.substr(colon + 1), 10, 5, 65535, port)) {
    return bad(text, "the port is not a number from 0 to 65535");
  }
  std::string_view host = text.substr(0, colon);
  if (host.empty()) return bad(text, "there is no host before the port");
  const bool brackets = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (brackets) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  if (brackets ? !is_ipv6(host) : !is_ipv4(host)) {
    if (!brackets && is_ipv6(host)) return bad(text, "an IPv6 address needs brackets");
    return bad(text, "the part before the port is not an IP address");
  }
  return Address{.host = std::string(host), .port = static_cast<std::uint16_t>(port)};
}

std::string to_text(const Address& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(ipv6 ? "[{}]:{}" : "{}:{}"), address.host, address.port);
}

bool is_loopback(std::string_view host) {
  if (is_ipv4(host)) return host.starts_with("127.");
  if (!is_ipv6(host)) return false;
  // The last group is 1 and everything before it 0, however it is written.
  if (host.find('.') != npos) return false;
  const std::size_t last = host.rfind(':');
  unsigned value = 0;
  if (!number(host.substr(last + 1), 16, 4, 0xffff, value) || value != 1) return false;
  return host.substr(0, last).find_first_not_of("0:") == npos;
}

}  // namespace millrace::config
