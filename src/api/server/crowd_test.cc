// Ten thousand connections that do nothing must cost next to nothing.

#include <fstream>
#include <string>

#include "api/server/listener.h"
#include "tests/support/served.h"

namespace millrace::api {
namespace {

using CrowdTest = ServedTest;

std::size_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool memory_is_real = false;
#else
constexpr bool memory_is_real = true;
#endif

TEST_F(CrowdTest, ten_thousand_idle_and_a_thousand_parked_connections_are_cheap) {
  constexpr std::size_t idle_count = memory_is_real ? 10'000 : 1'000;
  constexpr std::size_t parked_count = idle_count / 10;
  const auto files = raise_open_files();
  // Both ends of every connection are in this process. With fewer files there are fewer
  // connections; what one of them costs is the same.
  const std::size_t most = files.value_or(256) / 2 - 100;
  const std::size_t parked_wanted = std::min(parked_count, most / 11);
  const std::size_t idle_wanted = std::min(idle_count, most - parked_wanted);
  if (idle_wanted < 900) GTEST_SKIP() << "too few files may be open here: " << files.value_or(0);

  serve();
  std::vector<Client> clients;
  clients.reserve(idle_wanted + parked_wanted);
  const std::string filler(10'000, 'x');
  ASSERT_EQ(connect().ask("GET /a HTTP/1.1\r\nHost: x\r\n\r\n").status, 200U);
  const std::size_t before = resident_kib();
  for (std::size_t i = 0; i < idle_wanted; ++i) {
    clients.push_back(connect());
    ASSERT_TRUE(clients.back().connected()) << i;
    // Each has had a request larger than what an idle connection may hold.
    ASSERT_EQ(
        clients.back()
            .ask(fmt::format("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 30000\r\n\r\n{}{}{}",
                             filler, filler, filler))
            .status,
        200U);
    locked([this] { requests_.clear(); });
  }
  for (std::size_t i = 0; i < parked_wanted; ++i) {
    clients.push_back(connect());
    clients.back().send("GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  ASSERT_TRUE(eventually([&] { return parked_.size() == parked_wanted; }));
  const std::size_t after = resident_kib();
  const double each =
      static_cast<double>(after - before) / static_cast<double>(idle_wanted + parked_wanted);
  RecordProperty("connections", static_cast<int>(idle_wanted + parked_wanted));
  RecordProperty("bytes_each", static_cast<int>(each * 1024));
  if (memory_is_real) {
    EXPECT_LT(each, 8.0);  // 11,000 of them: 86 MiB
  }
  // And they all still work.
  std::vector<Respond> waiting = locked([this] { return std::exchange(parked_, {}); });
  for (Respond& respond : waiting) respond({.body = "go"});
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (i < idle_wanted) clients[i].send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_EQ(clients[i].reply().status, 200U) << i;
  }
}

}  // namespace
}  // namespace millrace::api
