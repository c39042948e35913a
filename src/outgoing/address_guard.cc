#include "outgoing/address_guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <algorithm>
#include <charconv>
#include <span>

#include "core/quote.h"

namespace millrace::outgoing {
namespace {

using Address = std::array<std::uint8_t, 16>;

constexpr std::uint8_t v4_bits = 96;  // in front of an IPv4 address in an IPv6 one

constexpr Address mapped(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}

constexpr AddressRange v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, unsigned bits) {
  return {.first = mapped(a, b, c, 0), .bits = static_cast<std::uint8_t>(v4_bits + bits)};
}

// IPv4 addresses that are not public (RFC 6890 and its registry).
constexpr auto special_v4 = std::to_array<AddressRange>({
    v4(0, 0, 0, 8),        // this host
    v4(10, 0, 0, 8),       // private
    v4(100, 64, 0, 10),    // shared, behind carriers
    v4(127, 0, 0, 8),      // loopback
    v4(169, 254, 0, 16),   // link-local; where clouds keep their metadata
    v4(172, 16, 0, 12),    // private
    v4(192, 0, 0, 24),     // protocol assignments
    v4(192, 0, 2, 24),     // documentation
    v4(192, 88, 99, 24),   // relays of 6to4
    v4(192, 168, 0, 16),   // private
    v4(198, 18, 0, 15),    // benchmarks
    v4(198, 51, 100, 24),  // documentation
    v4(203, 0, 113, 24),   // documentation
    v4(224, 0, 0, 4),      // multicast
    v4(240, 0, 0, 4),      // reserved, and broadcast
});

// The only part of IPv6 that is assigned to the public, and the ranges in it that are not public.
constexpr AddressRange public_v6 = {.first = {0x20}, .bits = 3};
constexpr auto special_v6 = std::to_array<AddressRange>({
    {.first = {0x20, 0x01}, .bits = 23},              // protocols: Teredo, ORCHID, benchmarks
    {.first = {0x20, 0x01, 0x0d, 0xb8}, .bits = 32},  // documentation
    {.first = {0x3f, 0xff}, .bits = 20},              // documentation
});

// IPv6 addresses that carry an IPv4 address, to which a gateway translates.
constexpr AddressRange nat64 = {.first = {0x00, 0x64, 0xff, 0x9b}, .bits = 96};
constexpr AddressRange six_to_four = {.first = {0x20, 0x02}, .bits = 16};

bool is_v4(const Address& address) {
  constexpr Address front = mapped(0, 0, 0, 0);
  return std::equal(address.begin(), address.begin() + 12, front.begin());
}

bool begins_alike(const Address& a, const Address& b, unsigned bits) {
  const unsigned bytes = bits / 8;
  if (!std::equal(a.begin(), a.begin() + bytes, b.begin())) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff00U >> (bits % 8));
  return ((a[bytes] ^ b[bytes]) & mask) == 0;
}

bool contains(const AddressRange& range, const Address& address) {
  // A wide range of IPv6 such as ::/0 says nothing about IPv4.
  if (range.bits < v4_bits && is_v4(address)) return false;
  return begins_alike(range.first, address, range.bits);
}

bool any_contains(std::span<const AddressRange> ranges, const Address& address) {
  return std::ranges::any_of(ranges,
                             [&](const AddressRange& range) { return contains(range, address); });
}

bool is_special(const Address& address) {
  if (is_v4(address)) return any_contains(special_v4, address);
  if (contains(nat64, address)) {
    return is_special(mapped(address[12], address[13], address[14], address[15]));
  }
  if (contains(six_to_four, address)) {
    return is_special(mapped(address[2], address[3], address[4], address[5]));
  }
  return !contains(public_v6, address) || any_contains(special_v6, address);
}

std::unexpected<Error> no_range(std::string_view text, std::string_view why) {
  return fail(
      ErrorCode::invalid,
      fmt::format("{} is not a range of addresses: {}; allowed are 10.0.0.0/8, 192.168.1.7, "
                  "fd00::/8, ::1 and the like",
                  in_quotes(text), why));
}

}  // namespace

Result<AddressRange> parse_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string host(text.substr(0, slash));
  AddressRange range;
  unsigned most = 128;
  in_addr four{};
  if (host.contains('\0')) return no_range(text, "it has a zero byte");
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&four);
    range.first = mapped(bytes[0], bytes[1], bytes[2], bytes[3]);
    most = 32;
  } else if (::inet_pton(AF_INET6, host.c_str(), range.first.data()) != 1) {
    return no_range(text, "it does not begin with an IP address");
  }
  unsigned bits = most;
  if (slash != std::string_view::npos) {
    const std::string_view number = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(number.begin(), number.end(), bits);
    if (error != std::errc{} || end != number.end() || bits > most) {
      return no_range(text,
                      fmt::format("after the slash there must be a number from 0 to {}", most));
    }
  }
  range.bits = static_cast<std::uint8_t>(128 - most + bits);
  for (unsigned bit = range.bits; bit < 128; ++bit) {
    if ((range.first[bit / 8] & (0x80U >> (bit % 8))) != 0) {
      return no_range(text, fmt::format("the address has more than the {} bits that count", bits));
    }
  }
  return range;
}

std::string to_text(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_v4(address)) {
    ::inet_ntop(AF_INET, address.data() + 12, text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  }
  return text.data();
}

bool AddressGuard::allows(const Address& address) const {
  return allow_private || any_contains(allowed, address) || !is_special(address);
}

}  // namespace millrace::outgoing
