#include "bench/http_load.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "bench/measure.h"
#include "bench/require.h"

namespace millrace::bench {
namespace {

constexpr std::size_t scratch_size = 1U << 18U;
constexpr double patience = 60;  // seconds without any answer

void fail_with(std::string_view what) {
  require(false, fmt::format("{}: {}", what, strerror(errno)));
}

std::size_t content_length(std::string_view head) {
  static constexpr std::string_view name = "content-length:";
  for (std::size_t line = head.find("\r\n"); line != std::string_view::npos;
       line = head.find("\r\n", line + 2)) {
    const std::string_view rest = head.substr(line + 2);
    if (rest.size() < name.size() || strncasecmp(rest.data(), name.data(), name.size()) != 0) {
      continue;
    }
    const char* digits = rest.data() + name.size();
    while (*digits == ' ') ++digits;
    std::size_t length = 0;
    std::from_chars(digits, head.data() + head.size(), length);
    return length;
  }
  require(head.starts_with("HTTP/1.1 204"), "an answer has a Content-Length");
  return 0;
}

}  // namespace

std::string http_request(std::string_view method, std::string_view target, std::string_view body) {
  if (body.empty()) return fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n\r\n", method, target);
  return fmt::format(
      "{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "{}\r\n\r\n{}",
      method, target, body.size(), body);
}

HttpLoad::HttpLoad(std::uint16_t port, std::size_t connections)
    : port_(port), epoll_(epoll_create1(EPOLL_CLOEXEC)), scratch_(scratch_size) {
  if (epoll_ < 0) fail_with("epoll_create1");
  for (std::size_t i = 0; i < connections; ++i) connect();
}

HttpLoad::~HttpLoad() {
  for (const Connection& connection : connections_) close(connection.socket);
  close(epoll_);
}

std::size_t HttpLoad::connect() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) fail_with("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    fail_with("connect");
  }
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  connections_.push_back({.socket = socket});
  watch(connections_.size() - 1, false, EPOLL_CTL_ADD);
  return connections_.size() - 1;
}

void HttpLoad::watch(std::size_t index, bool writing, int operation) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = index}};
  if (writing) event.events |= EPOLLOUT;
  if (epoll_ctl(epoll_, operation, connections_[index].socket, &event) != 0) fail_with("epoll_ctl");
}

void HttpLoad::send(std::size_t index, std::string_view request) {
  Connection& connection = connections_[index];
  require(!connection.busy, "one request at a time on a connection");
  connection.busy = true;
  ++busy_;
  const ssize_t sent =
      ::send(connection.socket, request.data(), request.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(request.size())) return;
  if (sent < 0 && errno != EAGAIN) fail_with("send");
  connection.out = request.substr(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  watch(index, true, EPOLL_CTL_MOD);
}

void HttpLoad::send_rest(std::size_t index) {
  Connection& connection = connections_[index];
  const ssize_t sent = ::send(connection.socket, connection.out.data(), connection.out.size(),
                              MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) fail_with("send");
  connection.out.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  if (connection.out.empty()) watch(index, false, EPOLL_CTL_MOD);
}

void HttpLoad::receive(std::size_t index, const Answered& answered) {
  const ssize_t got =
      recv(connections_[index].socket, scratch_.data(), scratch_.size(), MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got < 0) fail_with("recv");
  require(got != 0, "the server closed a connection");
  const std::string_view bytes(scratch_.data(), static_cast<std::size_t>(got));
  std::string& in = connections_[index].in;
  if (in.empty()) {
    if (hand_over(index, bytes, answered) == 0) connections_[index].in = bytes;
    return;
  }
  in += bytes;
  // The answer is taken out first: the callback may open connections, which moves this one.
  std::string whole = std::move(in);
  if (hand_over(index, whole, answered) != 0) whole.clear();
  connections_[index].in = std::move(whole);  // keeps its capacity
}

std::size_t HttpLoad::hand_over(std::size_t index, std::string_view bytes,
                                const Answered& answered) {
  const auto* end = static_cast<const char*>(memmem(bytes.data(), bytes.size(), "\r\n\r\n", 4));
  if (end == nullptr) return 0;
  const auto head_size = static_cast<std::size_t>(end - bytes.data()) + 4;
  const std::string_view head = bytes.substr(0, head_size);
  // A body in chunks is over when its last one has come: nothing follows it here.
  const bool chunked = head.contains("Transfer-Encoding: chunked");
  if (chunked && !bytes.ends_with("\r\n0\r\n\r\n")) return 0;
  const std::size_t size = chunked ? bytes.size() : head_size + content_length(head);
  if (bytes.size() < size) return 0;
  require(bytes.size() == size && connections_[index].busy, "one answer for one request");
  connections_[index].busy = false;
  --busy_;
  unsigned status = 0;
  std::from_chars(head.data() + 9, head.data() + 12, status);
  answered({.connection = index, .status = status, .body = bytes.substr(head_size)});
  return size;
}

void HttpLoad::wait(double until, const Answered& answered) {
  std::array<epoll_event, 64> events{};
  const double left = std::max(0.0, until - wall_seconds());
  const timespec time{
      .tv_sec = static_cast<time_t>(left),
      .tv_nsec = static_cast<long>((left - static_cast<double>(static_cast<time_t>(left))) * 1e9)};
  const int count = epoll_pwait2(epoll_, events.data(), events.size(), &time, nullptr);
  if (count < 0 && errno != EINTR) fail_with("epoll_pwait2");
  for (int i = 0; i < count && !stopped_; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    const auto index = static_cast<std::size_t>(event.data.u64);
    if ((event.events & EPOLLOUT) != 0) send_rest(index);
    if ((event.events & ~EPOLLOUT) != 0) receive(index, answered);
  }
}

void HttpLoad::run(double until, const Answered& answered) {
  stopped_ = false;
  while (!stopped_ && wall_seconds() < until) wait(until, answered);
  stopped_ = false;
}

void HttpLoad::finish(const Answered& answered) {
  double last = wall_seconds();
  const Answered noted = [&](const Answer& answer) {
    last = wall_seconds();
    answered(answer);
  };
  while (busy_ != 0) {
    stopped_ = false;
    wait(last + patience, noted);
    require(wall_seconds() < last + patience, "an answer within a minute");
  }
}

Reply HttpLoad::ask(std::size_t connection, std::string_view request) {
  Reply reply;
  send(connection, request);
  finish([&](const Answer& answer) { reply = {answer.status, std::string(answer.body)}; });
  return reply;
}

}  // namespace millrace::bench
