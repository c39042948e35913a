#include "outgoing/address_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace millrace::outgoing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::array<std::uint8_t, 16> address(const std::string& text) {
  auto range = parse_range(text);
  EXPECT_TRUE(range.has_value()) << text;
  return range ? range->first : std::array<std::uint8_t, 16>{};
}

std::string refusal(std::string_view text) {
  auto range = parse_range(text);
  return range ? "accepted" : range.error().message;
}

const AddressGuard strict{.allow_private = false};

TEST(AddressGuard, allows_everything_unless_told_otherwise) {
  for (const char* each : {"127.0.0.1", "10.1.2.3", "::1", "8.8.8.8", "fe80::1"}) {
    EXPECT_TRUE(AddressGuard{}.allows(address(each))) << each;
  }
}

TEST(AddressGuard, knows_what_is_not_public_in_ipv4) {
  for (const char* each :
       {"0.0.0.0",         "0.255.255.255", "10.0.0.0",        "10.255.255.255",  "100.64.0.0",
        "100.127.255.255", "127.0.0.1",     "127.255.255.255", "169.254.169.254", "172.16.0.0",
        "172.31.255.255",  "192.0.0.1",     "192.0.2.1",       "192.88.99.1",     "192.168.0.1",
        "192.168.255.255", "198.18.0.0",    "198.19.255.255",  "198.51.100.7",    "203.0.113.9",
        "224.0.0.1",       "239.255.255.0", "240.0.0.1",       "255.255.255.255"}) {
    EXPECT_FALSE(strict.allows(address(each))) << each;
    EXPECT_FALSE(strict.allows(address(std::string("::ffff:") + each))) << each;
  }
}

TEST(AddressGuard, allows_the_neighbours_of_what_is_not_public_in_ipv4) {
  for (const char* each :
       {"1.0.0.0",         "9.255.255.255", "11.0.0.0",        "100.63.255.255",  "100.128.0.0",
        "126.255.255.255", "128.0.0.0",     "169.253.255.255", "169.255.0.0",     "172.15.255.255",
        "172.32.0.0",      "192.0.1.0",     "192.0.3.0",       "192.167.255.255", "192.169.0.0",
        "198.17.255.255",  "198.20.0.0",    "203.0.112.255",   "203.0.114.0",     "223.255.255.255",
        "8.8.8.8"}) {
    EXPECT_TRUE(strict.allows(address(each))) << each;
  }
}

TEST(AddressGuard, knows_what_is_not_public_in_ipv6) {
  for (const char* each :
       {"::",          "::1",       "::127.0.0.1", "::8.8.8.8",    "::ffff:0:8.8.8.8", "100::1",
        "fc00::1",     "fdff::1",   "fe80::1",     "febf::1",      "fec0::1",          "ff02::1",
        "2001::1",     "2001:2::1", "2001:10::1",  "2001:20::1",   "2001:db8::1",      "3fff::1",
        "3fff:fff::1", "4000::1",   "5f00::1",     "64:ff9b:1::1", "1fff::1"}) {
    EXPECT_FALSE(strict.allows(address(each))) << each;
  }
}

TEST(AddressGuard, allows_public_ipv6) {
  for (const char* each : {"2000::1", "2001:200::1", "2001:4860:4860::8888", "2606:4700::1111",
                           "2a00:1450::1", "3ffe::1", "3fff:1000::1"}) {
    EXPECT_TRUE(strict.allows(address(each))) << each;
  }
}

TEST(AddressGuard, looks_at_the_ipv4_address_that_an_ipv6_address_carries) {
  EXPECT_FALSE(strict.allows(address("64:ff9b::127.0.0.1")));
  EXPECT_FALSE(strict.allows(address("64:ff9b::a9fe:a9fe")));
  EXPECT_TRUE(strict.allows(address("64:ff9b::8.8.8.8")));
  EXPECT_FALSE(strict.allows(address("2002:7f00:1::")));
  EXPECT_FALSE(strict.allows(address("2002:c0a8:101::5")));
  EXPECT_TRUE(strict.allows(address("2002:808:808::1")));
}

TEST(AddressGuard, allows_ranges_nevertheless) {
  const AddressGuard guard{.allow_private = false,
                           .allowed = {*parse_range("10.1.0.0/16"), *parse_range("fd00::/8"),
                                       *parse_range("127.0.0.1")}};
  EXPECT_TRUE(guard.allows(address("10.1.255.255")));
  EXPECT_FALSE(guard.allows(address("10.2.0.0")));
  EXPECT_FALSE(guard.allows(address("10.0.255.255")));
  EXPECT_TRUE(guard.allows(address("fd12::1")));
  EXPECT_FALSE(guard.allows(address("fc12::1")));
  EXPECT_TRUE(guard.allows(address("127.0.0.1")));
  EXPECT_FALSE(guard.allows(address("127.0.0.2")));
  EXPECT_TRUE(guard.allows(address("8.8.8.8")));
}

TEST(AddressGuard, all_of_ipv6_does_not_mean_ipv4) {
  const AddressGuard six{.allow_private = false, .allowed = {*parse_range("::/0")}};
  EXPECT_TRUE(six.allows(address("::1")));
  EXPECT_FALSE(six.allows(address("127.0.0.1")));
  const AddressGuard four{.allow_private = false, .allowed = {*parse_range("0.0.0.0/0")}};
  EXPECT_TRUE(four.allows(address("127.0.0.1")));
  EXPECT_FALSE(four.allows(address("::1")));
}

TEST(AddressGuard, ranges_that_are_none_are_refused) {
  for (const char* each : {"", "/", "/8", "10", "10.0.0", "10.0.0.256", "010.0.0.1", "0x7f.1",
                           "2130706433", "localhost", "[::1]", "fe80::1%eth0", " 10.0.0.0/8"}) {
    EXPECT_THAT(refusal(each), AllOf(HasSubstr("is not a range"), HasSubstr("10.0.0.0/8"))) << each;
  }
  for (const char* each : {"10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.0/ 8",
                           "10.0.0.0/8/8", "10.0.0.0/99999999999999999999"}) {
    EXPECT_THAT(refusal(each), HasSubstr("from 0 to 32")) << each;
  }
  EXPECT_THAT(refusal("::/129"), HasSubstr("from 0 to 128"));
  EXPECT_THAT(refusal("10.0.0.1/8"), HasSubstr("more than the 8 bits"));
  EXPECT_THAT(refusal("fd00::1/8"), HasSubstr("more than the 8 bits"));
  EXPECT_THAT(refusal(std::string_view("10.0.0.0\0", 9)), HasSubstr("zero byte"));
}

TEST(AddressGuard, addresses_are_shown_as_one_writes_them) {
  EXPECT_EQ(to_text(address("10.1.2.3")), "10.1.2.3");
  EXPECT_EQ(to_text(address("::ffff:10.1.2.3")), "10.1.2.3");
  EXPECT_EQ(to_text(address("fd00:0::1")), "fd00::1");
}

}  // namespace
}  // namespace millrace::outgoing
