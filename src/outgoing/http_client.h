// HTTP to others: to a Millrace server, to webhooks and endpoints. One thread drives all requests;
// connections are kept and used again.
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
  // Instead of `body`, for one of any length: fills the room with what comes next and says how much
  // that is; 0: nothing follows. Called on the client's thread, where everybody waits for it.
  std::function<Result<std::size_t>(std::span<char> room)> more = {};
  // Instead of HttpReply::body, for an answer of any length whose status is 2xx: gets what comes
  // as it comes; an error ends the request with it. Called on the client's thread, as `more` is.
  std::function<Result<void>(std::string_view piece)> on_piece = {};
  Duration timeout = std::chrono::seconds(30);  // for everything
  Duration connect_timeout = std::chrono::seconds(10);
  Duration stall_timeout{};  // for a second byte after any; zero: as long as there is time
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
  AddressGuard guard = {};       // who may be connected to; looked at with every connection
  std::size_t connections = 64;  // a host
  std::string user_agent = "millrace";
  std::string ca_file = {};  // empty: the system's
};

// `unavailable`: no answer came, and nothing is known of what the other side did (the message says
// why). `invalid`: it could not be sent at all: a bad URL, an address that is not allowed.
// `too_large`: the answer was.
//
// HTTP/1.1, over TLS only with certificates that can be trusted. Redirects are not followed, and
// proxies that the environment names are not used: who is connected to is the URL's host, or the
// guard could be talked past. If a kept connection turns out to have been closed without a byte of
// an answer, the request is sent once more over a new one.
class HttpClient {
 public:
  using Done = std::move_only_function<void(Result<HttpReply>)>;

  explicit HttpClient(HttpClientOptions options = {});
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();  // what is under way ends with `unavailable`

  // Any thread. `done` is called once, on the client's thread or on this one, and may only post.
  void send(HttpRequest request, Done done);
  // Waits for the answer.
  Result<HttpReply> send(HttpRequest request);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::outgoing
