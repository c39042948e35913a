// Which addresses may be connected to. Asked for the address itself, after its name was resolved
// and for every connection, so that no name can point elsewhere between the look and the call.
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
  // Whatever is not somebody's public address: loopback, private, link-local, shared, multicast,
  // reserved; IPv6 addresses that stand for such an IPv4 address, too.
  bool allow_private = true;
  std::vector<AddressRange> allowed = {};  // of them, these nevertheless

  bool allows(const std::array<std::uint8_t, 16>& address) const;
};

}  // namespace millrace::outgoing
