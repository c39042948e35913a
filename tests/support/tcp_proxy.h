// Stands between a client and a port of this machine, and can be cut like a cable.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

namespace millrace::test {

class TcpProxy {
 public:
  explicit TcpProxy(std::uint16_t to);
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;
  ~TcpProxy();

  std::uint16_t port() const { return port_; }

  // Ends every connection, and from now on every new one as soon as it comes.
  void cut();
  void heal() { cut_ = false; }

  // Bytes that the port has sent to all clients so far.
  std::uint64_t sent_back() const { return sent_back_; }

 private:
  void accept_all();
  void carry(int client);

  const std::uint16_t to_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> cut_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> sent_back_ = 0;
  std::mutex mutex_;
  std::list<std::pair<int, int>> open_;  // the two ends of each connection
  std::list<std::thread> carriers_;
  std::thread acceptor_;
};

}  // namespace millrace::test
