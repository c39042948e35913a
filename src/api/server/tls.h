// TLS over a non-blocking socket; the connection waits until the socket is ready. Nothing is
// buffered here but what OpenSSL itself keeps, so that an idle connection stays small.
#pragma once

#include <millrace/result.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace millrace::api {

// PEM files. The certificate file holds the server's certificate first, then its chain.
struct TlsFiles {
  std::string certificate = {};
  std::string key = {};
};

// Certificate, key and rules: TLS 1.2 at least, no renegotiation. Safe to use from several threads.
class TlsSettings {
 public:
  static Result<std::shared_ptr<const TlsSettings>> load(const TlsFiles& files);
  ~TlsSettings();
  TlsSettings(const TlsSettings&) = delete;
  TlsSettings& operator=(const TlsSettings&) = delete;

  ssl_ctx_st* get() const { return context_; }

 private:
  explicit TlsSettings(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* context_;
};

// What has to happen before a call can go on.
enum class TlsWait : std::uint8_t {
  none,        // it has done its work
  readable,    // wait until the socket is readable, then call again
  writable,    // the same for writable
  ended,       // the peer has said good-bye, or is gone
  failed,      // not TLS, or broken
  plain_http,  // the peer speaks HTTP where TLS was expected
};

// One connection. The socket is not owned and must outlive this.
class TlsSession {
 public:
  struct Moved {
    std::size_t bytes = 0;
    TlsWait wait = TlsWait::none;
  };

  TlsSession(const TlsSettings& settings, int socket);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  TlsWait accept();
  Moved read(std::span<char> into);
  // After a wait, it must be called again with the same bytes; they may lie elsewhere in memory.
  Moved write(std::string_view bytes);
  void shut_down();

 private:
  TlsWait wait_after(int result);
  ssl_st* session_;
};

}  // namespace millrace::api
