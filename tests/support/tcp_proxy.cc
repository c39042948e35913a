#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace millrace::test {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Carries the available bytes to the other side, and counts them; false: there will be no more.
bool pump(int from, int to, std::atomic<std::uint64_t>& count) {
  std::array<char, 16384> buffer;
  const ssize_t got = recv(from, buffer.data(), buffer.size(), 0);
  if (got > 0) count += static_cast<std::uint64_t>(got);
  for (ssize_t sent = 0; sent < got;) {
    const ssize_t step =
        send(to, buffer.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
    if (step <= 0) return false;
    sent += step;
  }
  return got > 0;
}

}  // namespace

TcpProxy::TcpProxy(std::uint16_t to) : to_(to) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, generic, size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("the proxy cannot listen");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

TcpProxy::~TcpProxy() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  cut();
  for (std::thread& each : carriers_) each.join();
}

void TcpProxy::cut() {
  cut_ = true;
  const std::scoped_lock lock(mutex_);
  for (const auto& [client, server] : open_) {
    shutdown(client, SHUT_RDWR);
    shutdown(server, SHUT_RDWR);
  }
}

void TcpProxy::accept_all() {
  while (!stopping_) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    if (cut_ || stopping_) {
      close(client);
      continue;
    }
    carriers_.emplace_back([this, client] { carry(client); });
  }
}

void TcpProxy::carry(int client) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(to_);
  std::list<std::pair<int, int>>::iterator place;
  {
    const std::scoped_lock lock(mutex_);
    place = open_.insert(open_.end(), {client, server});
  }
  bool good = connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  std::array<pollfd, 2> ends = {pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                pollfd{.fd = server, .events = POLLIN, .revents = 0}};
  std::atomic<std::uint64_t> sent = 0;
  while (good && !cut_ && poll(ends.data(), ends.size(), 1000) >= 0) {
    if (ends[0].revents != 0) good = pump(client, server, sent);
    if (good && ends[1].revents != 0) good = pump(server, client, sent_back_);
  }
  const std::scoped_lock lock(mutex_);
  open_.erase(place);
  close(client);
  close(server);
}

}  // namespace millrace::test
