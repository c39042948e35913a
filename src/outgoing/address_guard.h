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
Result<AddressRange> parse_range(std::string_view text);

struct AddressGuard {
  bool allow_private = true;               // loopback, private, link-local, shared, reserved …
  std::vector<AddressRange> allowed = {};  // of them, these nevertheless

  bool allows(const std::array<std::uint8_t, 16>& address) const;
};

}  // namespace millrace::outgoing
