// A client that does exactly what a test says, right or wrong: bytes to a port of this machine and
// back. Nothing waits longer than ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace millrace::test {

struct Reply {
  unsigned status = 0;  // 0: none came
  std::string head = {};
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port, const std::string& address = "127.0.0.1");
  ~RawClient();
  RawClient(RawClient&& other) noexcept;
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return socket_ >= 0; }
  // Switches to TLS, whatever the certificate says; returns whether the handshake succeeded.
  bool start_tls(int highest_version = 0);
  // Subject of the certificate the server showed.
  std::string peer_name() const;

  bool send(std::string_view bytes);  // all of it
  // Sends as much as the server takes while it is not read from; returns how much that was.
  std::size_t send_until_stuck(std::string_view bytes);

  // Reads one response, also an interim one. `to_head`: it answers a HEAD and has no body.
  Reply reply(bool to_head = false);
  // Sends and reads one response.
  Reply ask(std::string_view bytes);
  // Reads until `text` has come; returns what came up to it, or nothing if it never did.
  std::string read_until(std::string_view text);
  std::string read_to_end();
  // Reads so many bytes and forgets them; returns how many came before the end.
  std::size_t skip(std::size_t bytes);
  // Whether the server ends the connection without another byte.
  bool ends();

  void end_sending();  // shutdown(SHUT_WR)
  void close();
  void reset();          // closes with RST
  void shrink_window();  // a small receive buffer, so that the server gets stuck
  void wait_at_most(std::chrono::milliseconds limit);  // for each later read

  int socket() const { return socket_; }

 private:
  bool fill();  // reads something; false at the end

  int socket_ = -1;
  ssl_ctx_st* tls_context_ = nullptr;
  ssl_st* tls_ = nullptr;
  std::string inbox_;
};

}  // namespace millrace::test
