// Which addresses may be connected to. The guard checks the resolved address of every connection,
// so a name cannot point elsewhere between check and call.
#pragma once

#include <millrace/result.h>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::outgoing {

// A range of addresses: 10.0.0.0/8, fd00::/8, or one address. IPv4 is kept as ::ffff:a.b.c.d.
struct AddressRange {
  std::array<std::uint8_t, 16> first = {};
  std::uint8_t bits = 128;

  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};
// `invalid` says what is wrong with it; bits beyond the range's length must be zero.
Result<AddressRange> parse_range(std::string_view text);

// 10.0.0.1, fd00::1
std::string to_text(const std::array<std::uint8_t, 16>& address);

struct AddressGuard {
  // Whether addresses that are not public are allowed: loopback, private, link-local, shared,
  // multicast, reserved, and IPv6 addresses that stand for such an IPv4 address.
  bool allow_private = true;
  std::vector<AddressRange> allowed = {};  // ranges that are allowed even so

  bool allows(const std::array<std::uint8_t, 16>& address) const;
};

}  // namespace millrace::outgoing
