#include "api/server/tls.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace millrace::api {

namespace {

// The reason of this thread's oldest error; clears all its errors.
std::string last_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  if (ERR_SYSTEM_ERROR(code)) reason = std::strerror(ERR_GET_REASON(code));
  return reason == nullptr ? "no reason given" : reason;
}

// A socket for OpenSSL that never raises SIGPIPE, unlike OpenSSL's own.
int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(socket_of(bio), into, static_cast<std::size_t>(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

int bio_write(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t put = ::send(socket_of(bio), from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (put < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(put);
}

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

// Picks HTTP/1.1 if the client offers it; other clients may go on without.
int choose_protocol(ssl_st*, const unsigned char** chosen, unsigned char* length,
                    const unsigned char* offered, unsigned int offered_length, void*) {
  static constexpr std::string_view ours("\x08http/1.1", 9);
  unsigned char* picked = nullptr;
  const int found =
      SSL_select_next_proto(&picked, length, reinterpret_cast<const unsigned char*>(ours.data()),
                            static_cast<unsigned int>(ours.size()), offered, offered_length);
  *chosen = picked;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

// A server that starts unattended cannot ask for a passphrase.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return 0;
}

void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
}

std::unexpected<Error> unusable(std::string_view what, const std::string& file,
                                std::string_view why) {
  return fail(ErrorCode::invalid,
              fmt::format("the TLS {} file {} cannot be used: {}", what, file, why));
}

Result<void> load_files(SSL_CTX* context, const TlsFiles& files) {
  bool passphrase_asked = false;
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  SSL_CTX_set_default_passwd_cb_userdata(context, &passphrase_asked);
  Result<void> result;
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    result = unusable("certificate", files.certificate,
                      last_reason() + "; it must be PEM, the server's certificate first");
  } else if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    std::string why = last_reason();
    if (passphrase_asked) {
      why = "it is protected by a passphrase; write it without one (openssl pkey -in … -out …)";
    } else if (why.find("mismatch") != std::string::npos) {
      why = fmt::format("it is not the key of the certificate in {}", files.certificate);
    } else {
      why += "; it must be a private key in PEM";
    }
    result = unusable("key", files.key, why);
  } else if (SSL_CTX_check_private_key(context) != 1) {
    ERR_clear_error();
    result = unusable("key", files.key,
                      fmt::format("it is not the key of the certificate in {}", files.certificate));
  }
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  return result;
}

}  // namespace

Result<std::shared_ptr<const TlsSettings>> TlsSettings::load(const TlsFiles& files) {
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) {
    return fail(ErrorCode::internal, "OpenSSL cannot be used: " + last_reason());
  }
  std::shared_ptr<const TlsSettings> settings(new TlsSettings(context));
  set_rules(context);
  if (auto loaded = load_files(context, files); !loaded) return std::unexpected(loaded.error());
  return settings;
}

TlsSettings::~TlsSettings() {
  SSL_CTX_free(context_);
}

TlsSession::TlsSession(const TlsSettings& settings, int socket)
    : session_(SSL_new(settings.get())) {
  BIO* bio = session_ == nullptr ? nullptr : BIO_new(socket_method());
  if (bio == nullptr) return;  // out of memory; accept() fails
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(session_, bio, bio);
  SSL_set_accept_state(session_);
}

TlsSession::~TlsSession() {
  SSL_free(session_);
}

TlsWait TlsSession::wait_after(int result) {
  const int why = SSL_get_error(session_, result);
  if (why == SSL_ERROR_WANT_READ) return TlsWait::readable;
  if (why == SSL_ERROR_WANT_WRITE) return TlsWait::writable;
  if (why == SSL_ERROR_ZERO_RETURN) return TlsWait::ended;
  const int reason = ERR_GET_REASON(ERR_peek_error());
  ERR_clear_error();
  if (reason == SSL_R_HTTP_REQUEST) return TlsWait::plain_http;
  return TlsWait::failed;
}

TlsWait TlsSession::accept() {
  if (session_ == nullptr || SSL_get_rbio(session_) == nullptr) return TlsWait::failed;
  ERR_clear_error();
  const int result = SSL_accept(session_);
  return result == 1 ? TlsWait::none : wait_after(result);
}

TlsSession::Moved TlsSession::read(std::span<char> into) {
  ERR_clear_error();
  std::size_t bytes = 0;
  const int result = SSL_read_ex(session_, into.data(), into.size(), &bytes);
  return result == 1 ? Moved{bytes, TlsWait::none} : Moved{0, wait_after(result)};
}

TlsSession::Moved TlsSession::write(std::string_view text) {
  ERR_clear_error();
  std::size_t bytes = 0;
  const int result = SSL_write_ex(session_, text.data(), text.size(), &bytes);
  return result == 1 ? Moved{bytes, TlsWait::none} : Moved{0, wait_after(result)};
}

void TlsSession::shut_down() {
  ERR_clear_error();
  SSL_shutdown(session_);
  ERR_clear_error();
}

}  // namespace millrace::api
