// HTTP client: for a Millrace server, webhooks and endpoints. One thread drives all requests;
// connections are kept and reused.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "outgoing/address_guard.h"

namespace millrace::outgoing {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  Headers headers = {};
  std::string body = {};
  // Instead of `body`, for a body of any length: fills the room with the next bytes and returns how
  // many; 0: the body ends. Called on the client's thread, which all requests share.
  std::function<Result<std::size_t>(std::span<char> room)> more = {};
  // Instead of HttpReply::body, for a 2xx answer of any length: gets each piece as it arrives; an
  // error ends the request with that error. Called on the client's thread, like `more`.
  std::function<Result<void>(std::string_view piece)> on_piece = {};
  Duration timeout = std::chrono::seconds(30);  // for everything
  Duration connect_timeout = std::chrono::seconds(10);
  Duration stall_timeout{};  // longest pause between two pieces of the answer; zero: no limit
  std::size_t most = std::size_t{32} << 20U;  // bytes of the answer's body
  bool clip = false;                          // cut a longer body instead of refusing it
  std::stop_token stop = {};
};

struct HttpReply {
  int status = 0;
  Headers headers = {};  // names in lower case
  std::string body = {};
  bool clipped = false;  // the body was longer

  // Empty: there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpClientOptions {
  AddressGuard guard = {};       // checked for every connection
  std::size_t connections = 64;  // per host
  std::string user_agent = "millrace";
  std::string ca_file = {};  // empty: the system's
  // Ends the message about a certificate whose authority is not known.
  std::string unknown_authority = {};
};

// `unavailable`: no answer came, and it is not known what the other side did (the message says
// why). `invalid`: the request could not be sent at all: a bad URL, an address that is not allowed.
// `too_large`: the answer was too large.
//
// HTTP/1.1, over TLS only with trusted certificates. Redirects are not followed and proxies of the
// environment are not used, because either could bypass the guard. If a kept connection turns out
// to have been closed without a byte of an answer, the request is sent once more over a new one.
class HttpClient {
 public:
  using Done = std::move_only_function<void(Result<HttpReply>)>;

  explicit HttpClient(HttpClientOptions options = {});
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();  // requests under way end with `unavailable`

  // From any thread. `done` is called once, on the client's thread or on the caller's, and may only
  // post.
  void send(HttpRequest request, Done done);
  // Blocks until the answer is here.
  Result<HttpReply> send(HttpRequest request);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::outgoing
