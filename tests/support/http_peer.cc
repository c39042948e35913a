#include "tests/support/http_peer.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>

namespace millrace::test {

namespace {

constexpr auto npos = std::string::npos;

PeerRequest parsed(std::string head) {
  PeerRequest request;
  request.method = head.substr(0, head.find(' '));
  const std::size_t target = request.method.size() + 1;
  request.target = head.substr(target, head.find(' ', target) - target);
  std::size_t from = head.find("\r\n") + 2;
  for (std::size_t end = head.find("\r\n", from); end != npos && end > from;
       from = end + 2, end = head.find("\r\n", from)) {
    const std::string line = head.substr(from, end - from);
    const std::size_t colon = line.find(':');
    if (colon == npos) continue;
    std::string name = line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    request.headers[name] = value == npos ? "" : line.substr(value);
  }
  request.head = std::move(head);
  return request;
}

}  // namespace

void write_certificate(const PeerCertificate& files, const std::string& name) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  const std::string also = fmt::format("DNS:{},IP:127.0.0.1", name);
  X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, also.c_str());
  X509_add_ext(certificate, names, -1);
  X509_EXTENSION_free(names);
  X509_sign(certificate, key, EVP_sha256());
  std::FILE* out = std::fopen(files.certificate_file.c_str(), "w");
  PEM_write_X509(out, certificate);
  std::fclose(out);
  out = std::fopen(files.key_file.c_str(), "w");
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

// ---- A connection ------------------------------------------------------------------------------

PeerConnection::PeerConnection(int socket, ssl_ctx_st* tls) : socket_(socket) {
  if (tls == nullptr) return;
  tls_ = SSL_new(tls);
  SSL_set_fd(tls_, socket_);
}

PeerConnection::~PeerConnection() {
  SSL_free(tls_);
  ::close(socket_);
}

bool PeerConnection::start() {
  return tls_ == nullptr || SSL_accept(tls_) == 1;
}

void PeerConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = tls_ != nullptr
                             ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void PeerConnection::answer(std::string_view body, std::string_view status,
                            std::string_view headers) {
  send(fmt::format("HTTP/1.1 {}\r\n{}Content-Length: {}\r\n\r\n{}", status, headers, body.size(),
                   body));
}

void PeerConnection::close() {
  closed_ = true;
  ::shutdown(socket_, SHUT_RDWR);
}

void PeerConnection::reset() {
  closed_ = true;
  const linger none{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
  // Ends the connection at once; the descriptor stays taken until the destructor closes it.
  sockaddr no_address{};
  no_address.sa_family = AF_UNSPEC;
  ::connect(socket_, &no_address, sizeof(no_address));
}

void PeerConnection::wait_until_gone() {
  while (fill()) {
  }
  closed_ = true;
}

void PeerConnection::end() {
  ::shutdown(socket_, SHUT_RDWR);
}

std::optional<PeerRequest> PeerConnection::next() {
  std::size_t end = inbox_.find("\r\n\r\n");
  while (end == npos) {
    if (!fill()) return std::nullopt;
    end = inbox_.find("\r\n\r\n");
  }
  PeerRequest request = parsed(inbox_.substr(0, end + 4));
  inbox_.erase(0, end + 4);
  const auto length = request.headers.find("content-length");
  const std::size_t size = length == request.headers.end() ? 0 : std::stoul(length->second);
  while (inbox_.size() < size) {
    if (!fill()) return std::nullopt;
  }
  request.body = inbox_.substr(0, size);
  inbox_.erase(0, size);
  return request;
}

bool PeerConnection::fill() {
  std::array<char, 64 * 1024> piece{};
  const ssize_t got = tls_ != nullptr ? SSL_read(tls_, piece.data(), static_cast<int>(piece.size()))
                                      : ::recv(socket_, piece.data(), piece.size(), 0);
  if (got <= 0) return false;
  inbox_.append(piece.data(), static_cast<std::size_t>(got));
  return true;
}

// ---- The peer ----------------------------------------------------------------------------------

HttpPeer::HttpPeer(Answer answer, std::optional<PeerCertificate> tls, std::uint16_t port)
    : answer_(std::move(answer)) {
  if (tls) {
    tls_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate_file(tls_, tls->certificate_file.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(tls_, tls->key_file.c_str(), SSL_FILETYPE_PEM);
  }
  listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(listening_, reinterpret_cast<const sockaddr*>(&at), sizeof(at));
  ::listen(listening_, 128);
  socklen_t size = sizeof(at);
  ::getsockname(listening_, reinterpret_cast<sockaddr*>(&at), &size);
  port_ = ntohs(at.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

HttpPeer::~HttpPeer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const auto& each : open_) each->end();
  }
  ::shutdown(listening_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& each : threads_) each.join();
  ::close(listening_);
  SSL_CTX_free(tls_);
}

std::string HttpPeer::url(std::string_view path) const {
  return fmt::format("{}://127.0.0.1:{}{}", tls_ == nullptr ? "http" : "https", port_, path);
}

std::vector<PeerRequest> HttpPeer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t HttpPeer::connections() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

bool HttpPeer::wait_for_requests(std::size_t count) const {
  std::unique_lock lock(mutex_);
  return came_.wait_for(lock, std::chrono::seconds(10), [&] { return requests_.size() >= count; });
}

void HttpPeer::accept_all() {
  sigset_t pipe;  // OpenSSL writes to closed connections; the threads below inherit this
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  for (;;) {
    const int socket = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const std::lock_guard lock(mutex_);
    if (ending_) {
      ::close(socket);
      return;
    }
    open_.push_back(std::make_unique<PeerConnection>(socket, tls_));
    const auto connection = std::prev(open_.end());
    threads_.emplace_back([this, connection, number = accepted_++] {
      serve(**connection, number);
      const std::lock_guard again(mutex_);
      open_.erase(connection);
    });
  }
}

void HttpPeer::serve(PeerConnection& connection, std::size_t number) {
  if (!connection.start()) return;
  while (!connection.closed_) {
    auto request = connection.next();
    if (!request) return;
    request->connection = number;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(*request);
    }
    came_.notify_all();
    answer_(*request, connection);
  }
}

}  // namespace millrace::test
