// Whatever comes, the listener lives on, answers or closes, and serves the next.
#include <array>
#include <random>

#include "api/server/listener.h"
#include "tests/support/served.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;

using GarbageTest = ServedTest;

const std::array<std::string, 6> seeds{
    "GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3\r\nabc\r\n2;a=\"b\"\r\nde\r\n0\r\nA: b\r\n\r\n",
    "POST /stream-echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5\r\nhello\r\n0\r\n\r\n",
    "POST /deny HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    "HEAD /a HTTP/1.0\r\nConnection: keep-alive\r\nAuthorization: Bearer x\r\n\r\n",
};

std::string mutated(std::mt19937& dice) {
  std::string text;
  for (std::size_t parts = 1 + dice() % 3; parts > 0; --parts) text += seeds[dice() % seeds.size()];
  for (std::size_t changes = 1 + dice() % 4; changes > 0 && !text.empty(); --changes) {
    const std::size_t at = dice() % text.size();
    switch (dice() % 6) {
      case 0:
        text[at] = static_cast<char>(dice());
        break;
      case 1:
        text.erase(at, 1 + dice() % 8);
        break;
      case 2:
        text.insert(at, text.substr(dice() % text.size(), dice() % 40));
        break;
      case 3:
        text.insert(at, std::string(dice() % 3000, static_cast<char>(dice())));
        break;
      case 4:
        text.insert(at, std::array{"\r\n", "\n", "\r", "\r\n\r\n", "0\r\n", ":"}[dice() % 6]);
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

std::string noise(std::mt19937& dice) {
  std::string text(dice() % 2000, '\0');
  for (char& c : text) c = static_cast<char>(dice());
  return text;
}

TEST_F(GarbageTest, neither_noise_nor_damaged_requests_do_harm) {
  serve();
  std::mt19937 dice(20'240'117);
  for (int i = 0; i < 4000; ++i) {
    Client client = connect();
    ASSERT_TRUE(client.connected());
    const std::string text = i % 4 == 0 ? noise(dice) : mutated(dice);
    const std::size_t cut = text.empty() ? 0 : dice() % text.size();
    client.send(std::string_view(text).substr(0, cut));
    client.send(std::string_view(text).substr(cut));
    // All that was asked is answered and the connection ends, since nothing more comes.
    client.end_sending();
    const std::string answer = client.read_to_end();
    if (!answer.empty()) {
      ASSERT_EQ(answer.substr(0, 9), "HTTP/1.1 ") << i;
    }
  }
  Client client = connect();
  EXPECT_EQ(client.ask(seeds[0]).status, 200U);
  // Every connection that is gone has been forgotten, and the handler has heard of it at most once.
  client.close();
  EXPECT_TRUE(listener_->drain(10s));
  std::vector<std::uint64_t> closed = locked([this] { return closed_; });
  std::ranges::sort(closed);
  EXPECT_EQ(std::ranges::adjacent_find(closed), closed.end());
}

TEST_F(GarbageTest, peers_that_vanish_at_any_point_do_no_harm) {
  serve();
  std::mt19937 dice(7);
  for (int i = 0; i < 2000; ++i) {
    Client client = connect();
    const std::string& seed = seeds[dice() % seeds.size()];
    client.send(std::string_view(seed).substr(0, dice() % (seed.size() + 1)));
    if (dice() % 2 == 0) client.reset();
  }
  EXPECT_EQ(connect().ask(seeds[0]).status, 200U);
  EXPECT_TRUE(listener_->drain(10s));
}

}  // namespace
}  // namespace millrace::api
