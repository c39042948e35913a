#include "tests/support/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace millrace::test {

namespace {

constexpr auto npos = std::string::npos;

std::map<std::string, std::string> headers_of(const std::string& head) {
  std::map<std::string, std::string> headers;
  std::size_t from = head.find("\r\n");
  while (from != npos && from + 2 < head.size()) {
    const std::size_t end = head.find("\r\n", from + 2);
    const std::string line = head.substr(from + 2, end - from - 2);
    const std::size_t colon = line.find(": ");
    if (colon != npos) {
      std::string name = line.substr(0, colon);
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      headers[name] = line.substr(colon + 2);
    }
    from = end;
  }
  return headers;
}

}  // namespace

RawClient::RawClient(std::uint16_t port, const std::string& address) {
  const bool v6 = address.find(':') != npos;
  socket_ = ::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return;
  wait_at_most(std::chrono::seconds(10));
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  int result = -1;
  if (v6) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    ::inet_pton(AF_INET6, address.c_str(), &to.sin6_addr);
    result = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  } else {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
    result = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  }
  if (result != 0) close();
}

RawClient::~RawClient() {
  close();
}

RawClient::RawClient(RawClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      tls_context_(std::exchange(other.tls_context_, nullptr)),
      tls_(std::exchange(other.tls_, nullptr)),
      inbox_(std::move(other.inbox_)) {}

void RawClient::wait_at_most(std::chrono::milliseconds limit) {
  const timeval time{.tv_sec = limit.count() / 1000, .tv_usec = limit.count() % 1000 * 1000};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

bool RawClient::start_tls(int highest_version) {
  tls_context_ = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_security_level(tls_context_, 0);
  if (highest_version != 0) {
    SSL_CTX_set_min_proto_version(tls_context_, 0);
    SSL_CTX_set_max_proto_version(tls_context_, highest_version);
  }
  tls_ = SSL_new(tls_context_);
  SSL_set_fd(tls_, socket_);
  return SSL_connect(tls_) == 1;
}

std::string RawClient::peer_name() const {
  X509* certificate = tls_ == nullptr ? nullptr : SSL_get1_peer_certificate(tls_);
  if (certificate == nullptr) return {};
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                            static_cast<int>(name.size()));
  X509_free(certificate);
  return name.data();
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        tls_ != nullptr
            ? SSL_write(tls_, bytes.data(), static_cast<int>(std::min(bytes.size(), 1UL << 20)))
            : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::size_t RawClient::send_until_stuck(std::string_view bytes) {
  std::size_t total = 0;
  while (total < bytes.size()) {
    const ssize_t sent = ::send(socket_, bytes.data() + total, bytes.size() - total, MSG_NOSIGNAL);
    if (sent <= 0) break;
    total += static_cast<std::size_t>(sent);
  }
  return total;
}

bool RawClient::fill() {
  std::array<char, 64 * 1024> piece{};
  const ssize_t got = tls_ != nullptr ? SSL_read(tls_, piece.data(), static_cast<int>(piece.size()))
                                      : ::recv(socket_, piece.data(), piece.size(), 0);
  if (got <= 0) return false;
  inbox_.append(piece.data(), static_cast<std::size_t>(got));
  return true;
}

std::string RawClient::read_until(std::string_view text) {
  std::size_t at = inbox_.find(text);
  while (at == npos) {
    if (!fill()) return {};
    at = inbox_.find(text);
  }
  std::string result = inbox_.substr(0, at + text.size());
  inbox_.erase(0, at + text.size());
  return result;
}

std::string RawClient::read_to_end() {
  while (fill()) {
  }
  return std::exchange(inbox_, {});
}

std::size_t RawClient::skip(std::size_t bytes) {
  while (inbox_.size() < bytes && fill()) {
  }
  const std::size_t skipped = std::min(bytes, inbox_.size());
  inbox_.erase(0, skipped);
  return skipped;
}

bool RawClient::ends() {
  if (!inbox_.empty()) return false;
  char byte = 0;
  return tls_ != nullptr ? SSL_read(tls_, &byte, 1) <= 0 && SSL_get_shutdown(tls_) != 0
                         : ::recv(socket_, &byte, 1, 0) == 0;
}

Reply RawClient::reply(bool to_head) {
  Reply reply;
  reply.head = read_until("\r\n\r\n");
  if (reply.head.size() < 12) return reply;
  reply.status = static_cast<unsigned>(std::stoul(reply.head.substr(9, 3)));
  reply.headers = headers_of(reply.head);
  if (to_head || reply.status < 200 || reply.status == 204) return reply;
  if (reply.headers.contains("content-length")) {
    const std::size_t length = std::stoul(reply.headers["content-length"]);
    while (inbox_.size() < length && fill()) {
    }
    reply.body = inbox_.substr(0, length);
    inbox_.erase(0, length);
    inbox_.shrink_to_fit();  // ten thousand clients are kept in one process
  } else if (reply.headers.contains("transfer-encoding")) {
    for (;;) {
      const std::string line = read_until("\r\n");
      if (line.empty()) break;
      const std::size_t size = std::stoul(line, nullptr, 16);
      while (inbox_.size() < size + 2 && fill()) {
      }
      reply.body += inbox_.substr(0, size);
      inbox_.erase(0, size + 2);
      if (size == 0) break;
    }
  } else {
    reply.body = read_to_end();
  }
  return reply;
}

Reply RawClient::ask(std::string_view bytes) {
  if (!send(bytes)) return {};
  return reply();
}

void RawClient::end_sending() {
  ::shutdown(socket_, SHUT_WR);
}

void RawClient::shrink_window() {
  const int small = 4096;
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
}

void RawClient::reset() {
  const linger none{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
  close();
}

void RawClient::close() {
  SSL_free(tls_);
  tls_ = nullptr;
  SSL_CTX_free(tls_context_);
  tls_context_ = nullptr;
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

}  // namespace millrace::test
