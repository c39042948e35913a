// The listener over TLS, and what it says about files it cannot use.
#include "api/server/tls.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "api/server/listener.h"
#include "tests/support/served.h"
#include "tests/support/temporary_directory.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view get_a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

// A certificate that vouches for itself, and its key, in two files.
void write_certificate(const TlsFiles& files, const std::string& name,
                       const char* passphrase = nullptr) {
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
  X509_sign(certificate, key, EVP_sha256());
  std::FILE* out = std::fopen(files.certificate.c_str(), "w");
  PEM_write_X509(out, certificate);
  std::fclose(out);
  out = std::fopen(files.key.c_str(), "w");
  PEM_write_PrivateKey(out, key, passphrase == nullptr ? nullptr : EVP_aes_256_cbc(), nullptr, 0,
                       nullptr, const_cast<char*>(passphrase));
  std::fclose(out);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

class TlsTest : public ServedTest {
 protected:
  TlsFiles files(const std::string& name) {
    return {.certificate = directory_ / (name + ".pem"), .key = directory_ / (name + ".key")};
  }
  void serve_tls(ListenerLimits limits = {}) {
    write_certificate(files("server"), "one");
    serve(limits, files("server"));
  }
  Client connect_tls() {
    Client client = connect();
    EXPECT_TRUE(client.start_tls());
    return client;
  }
  std::string refusal(const TlsFiles& given) {
    NoHandler handler;
    auto started = Listener::start({.port = 0, .tls = given}, handler, clock_);
    return started ? "accepted" : started.error().message;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(TlsTest, bodies_that_are_made_while_they_are_sent_arrive_whole) {
  serve_tls();
  Client client = connect_tls();
  client.send("GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
  int made = 0;
  parked()(pushed([&made](PushStream::Done done) {
    const auto letter = static_cast<char>('a' + made % 26);
    done(std::string(256 * 1024, letter), ++made == 40);
  }));
  const std::string body = client.reply().body;
  EXPECT_EQ(body.size(), 40U * 256 * 1024);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(body[i * 256 * 1024], 'a' + i % 26);
  EXPECT_EQ(client.ask(get_a).body, "/a|");
}

TEST_F(TlsTest, a_peer_that_leaves_while_a_body_is_made_is_noticed) {
  serve_tls();
  Client client = connect_tls();
  client.send("GET /push-endless HTTP/1.1\r\nHost: x\r\n\r\n");
  next_ask()("one", false);
  EXPECT_FALSE(client.read_until("one\r\n").empty());
  PushStream::Done done = next_ask();
  client.close();
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1 && forgotten_ == 1; }));
}

TEST_F(TlsTest, requests_are_answered_as_without_tls) {
  serve_tls();
  Client client = connect_tls();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.ask(get_a).body, "/a|");
  std::string pipelined;
  for (int i = 0; i < 300; ++i) pipelined += get_a;
  client.send(pipelined);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(client.reply().body, "/a|");
  for (const std::size_t size : {1UL, 16384UL, 100'000UL, 4UL << 20}) {
    const std::string body(size, 'x');
    ASSERT_EQ(client
                  .ask(fmt::format("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}",
                                   size, body))
                  .body.size(),
              size + 3);
  }
  EXPECT_EQ(client.ask("GET /big HTTP/1.1\r\nHost: x\r\n\r\n").body.size(), 32U << 20);
  EXPECT_EQ(client.ask("GET /last HTTP/1.1\r\nHost: x\r\n\r\n").body, "bye");
  EXPECT_TRUE(client.ends());
}

TEST_F(TlsTest, streams_work) {
  serve_tls();
  Client client = connect_tls();
  const std::string body(512 << 10, 'x');  // as much as a peer may send without reading answers
  client.send(fmt::format("POST /stream-echo HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
                          body.size()));
  client.send(body);
  EXPECT_TRUE(client.reply().body == body);
}

TEST_F(TlsTest, only_tls_1_2_and_later_are_spoken) {
  serve_tls();
  Client old = connect();
  EXPECT_FALSE(old.start_tls(TLS1_1_VERSION));
  Client enough = connect();
  EXPECT_TRUE(enough.start_tls(TLS1_2_VERSION));
  EXPECT_EQ(enough.ask(get_a).status, 200U);
}

TEST_F(TlsTest, plain_http_is_told_that_this_is_tls) {
  serve_tls();
  Client client = connect();
  Reply reply = client.ask(get_a);
  EXPECT_EQ(reply.status, 400U);
  EXPECT_THAT(reply.body, HasSubstr("HTTPS"));
}

TEST_F(TlsTest, a_handshake_must_come_in_time_and_make_sense) {
  serve_tls();
  Client silent = connect();
  ASSERT_EQ(connect_tls().ask(get_a).status, 200U);
  clock_.advance(11s);
  EXPECT_TRUE(silent.ends());
  Client noise = connect();
  noise.send(std::string(100, '\x7f'));
  EXPECT_EQ(noise.reply().status, 0U);
}

TEST_F(TlsTest, a_peer_that_leaves_while_it_waits_is_noticed) {
  serve_tls();
  Client client = connect_tls();
  client.send("GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
  Respond respond = parked();
  client.close();
  EXPECT_TRUE(eventually([this] { return closed_.size() == 1; }));
  respond(watched("too late"));
  EXPECT_TRUE(eventually([this] { return undelivered_ == 1; }));
}

TEST_F(TlsTest, files_can_be_replaced_while_it_runs) {
  serve_tls();
  Client before = connect_tls();
  EXPECT_EQ(before.peer_name(), "one");
  write_certificate(files("server"), "two");
  EXPECT_EQ(connect_tls().peer_name(), "one");  // not before it is asked to
  ASSERT_TRUE(listener_->reload_tls().has_value());
  EXPECT_EQ(connect_tls().peer_name(), "two");
  EXPECT_EQ(before.ask(get_a).status, 200U);  // open connections stay

  std::ofstream(files("server").key) << "nonsense";
  EXPECT_FALSE(listener_->reload_tls().has_value());
  EXPECT_EQ(connect_tls().peer_name(), "two");
}

TEST_F(TlsTest, files_that_cannot_be_used_are_named_with_the_reason) {
  write_certificate(files("one"), "one");
  write_certificate(files("two"), "two");
  write_certificate(files("locked"), "locked", "secret");
  std::ofstream(directory_ / "nonsense") << "nonsense\n";
  EXPECT_THAT(
      refusal({directory_ / "missing", files("one").key}),
      AllOf(HasSubstr("certificate file"), HasSubstr("missing"), HasSubstr("No such file")));
  EXPECT_THAT(refusal({files("one").certificate, directory_ / "missing"}),
              AllOf(HasSubstr("key file"), HasSubstr("missing"), HasSubstr("No such file")));
  EXPECT_THAT(refusal({directory_ / "nonsense", files("one").key}),
              AllOf(HasSubstr("certificate file"), HasSubstr("must be PEM")));
  EXPECT_THAT(refusal({files("one").certificate, directory_ / "nonsense"}),
              AllOf(HasSubstr("key file"), HasSubstr("private key in PEM")));
  EXPECT_THAT(refusal({files("one").certificate, files("two").key}),
              AllOf(HasSubstr("two.key"), HasSubstr("not the key of the certificate"),
                    HasSubstr("one.pem")));
  EXPECT_THAT(refusal(files("locked")), AllOf(HasSubstr("locked.key"), HasSubstr("passphrase")));
}

}  // namespace
}  // namespace millrace::api
