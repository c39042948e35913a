// The other side of an HTTP client under test: a small server that answers exactly as the test
// says, right or wrong. One thread per connection; everything ends with the peer.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

struct ssl_st;
struct ssl_ctx_st;

namespace millrace::test {

struct PeerRequest {
  std::string method = {};
  std::string target = {};
  std::string head = {};                            // all of it
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};
  std::size_t connection = 0;  // its number, from 0
};

// One connection, as the function that answers sees it.
class PeerConnection {
 public:
  PeerConnection(int socket, ssl_ctx_st* tls);
  PeerConnection(const PeerConnection&) = delete;
  PeerConnection& operator=(const PeerConnection&) = delete;
  ~PeerConnection();

  void send(std::string_view bytes);
  // Answers 200 with a length, or what is given.
  void answer(std::string_view body, std::string_view status = "200 OK",
              std::string_view headers = "Content-Type: application/json\r\n");
  void close();  // with FIN
  void reset();  // with RST
  // Returns once the client has gone, or the peer ends.
  void wait_until_gone();

 private:
  friend class HttpPeer;

  bool start();  // the handshake of TLS
  std::optional<PeerRequest> next();
  bool fill();  // reads something; false at the end
  void end();   // from another thread: ends whatever it does

  const int socket_;
  ssl_st* tls_ = nullptr;
  bool closed_ = false;
  std::string inbox_;
};

// Files in PEM: a self-signed certificate and its key, for `name` and 127.0.0.1.
struct PeerCertificate {
  std::string certificate_file;
  std::string key_file;
};
void write_certificate(const PeerCertificate& files, const std::string& name);

class HttpPeer {
 public:
  using Answer = std::function<void(const PeerRequest&, PeerConnection&)>;

  explicit HttpPeer(Answer answer, std::optional<PeerCertificate> tls = std::nullopt,
                    std::uint16_t port = 0);
  ~HttpPeer();
  HttpPeer(const HttpPeer&) = delete;
  HttpPeer& operator=(const HttpPeer&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url(std::string_view path = "/") const;
  std::vector<PeerRequest> requests() const;
  std::size_t connections() const;
  // Waits until so many requests have come; false after ten seconds.
  bool wait_for_requests(std::size_t count) const;

 private:
  void accept_all();
  void serve(PeerConnection& connection, std::size_t number);

  const Answer answer_;
  ssl_ctx_st* tls_ = nullptr;
  int listening_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable came_;
  std::vector<PeerRequest> requests_;
  std::list<std::unique_ptr<PeerConnection>> open_;
  std::list<std::thread> threads_;
  std::size_t accepted_ = 0;
  bool ending_ = false;
  std::thread acceptor_;
};

}  // namespace millrace::test
