// Where to listen, as text: 127.0.0.1:7070, [::1]:7070, localhost:7070.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::config {

struct Address {
  std::string host = "127.0.0.1";  // an IPv4 or IPv6 address, without brackets
  std::uint16_t port = 7070;       // 0: any free port

  friend bool operator==(const Address&, const Address&) = default;
};

// A server listens on an address, not on a name: names other than localhost are refused.
Result<Address> parse_address(std::string_view text);
std::string to_text(const Address& address);

// Only this machine can reach it.
bool is_loopback(std::string_view host);

}  // namespace millrace::config
