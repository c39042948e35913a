// HTTP as the routes see it: a request, a response, and how a body goes by in pieces. Sockets,
// parsing, limits and TLS are the business of the listener; nothing here knows of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::api {

enum class Method : std::uint8_t { get, head, post, put, patch, remove, options, other };

// A connection, as its handler knows it from the first request to the end.
struct Peer {
  std::uint64_t caller = 0;  // a number that the handler chooses; 0: it has chosen none
};

struct HttpRequest {
  Method method = Method::get;
  std::string method_name = {};  // of Method::other
  std::string target = {};       // /v1/tasks?limit=5; what stood before the path is in `host`
  // The headers that mean something to us; empty where they are missing.
  std::string host = {};
  std::string origin = {};  // of the web page that asks, if one does
  std::string content_type = {};
  std::string content_encoding = {};
  std::string accept = {};
  std::string authorization = {};
  std::string idempotency_key = {};
  std::string request_id = {};     // X-Request-Id
  std::string last_event_id = {};  // how far the reader of an event stream has come
  // What browsers send, and proxies in front of us.
  std::string cookie = {};
  std::string accept_encoding = {};
  std::string if_none_match = {};
  std::string requested_by = {};      // X-Requested-By; pages of others cannot send it
  std::string forwarded_proto = {};   // X-Forwarded-Proto
  std::string forwarded_prefix = {};  // X-Forwarded-Prefix
  bool tls = false;
  std::string remote = {};  // address of the peer, for logs
  std::string body = {};
};

// A body that is made while it is sent, of any length and for as long as it takes. It is chunked;
// with HTTP/1.0 it lasts until the connection ends.
struct PushStream {
  // Asks for the next piece once everything before it is written, so that little is made for a peer
  // that reads slowly. `done` is called once, from any thread, as late as it likes; `last`: nothing
  // follows. Dropping `done` breaks the body off: the peer sees that it is incomplete. If the
  // connection ends, `more` is destroyed and HttpHandler::closed is called.
  using Done = std::move_only_function<void(std::string piece, bool last)>;
  std::move_only_function<void(Done done)> more = {};
  // The body has no end of its own. So it ends, as if complete, when the listener is drained, while
  // other bodies get as much time as requests; and a peer that ends its sending is taken to have
  // left.
  bool endless = false;
};

struct Resume;

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Called if the peer was gone before the response could be sent.
  std::move_only_function<void()> undelivered = {};
  std::unique_ptr<PushStream> push = nullptr;  // instead of `body`; not used for HEAD
  std::unique_ptr<Resume> resume;              // instead of an answer
};

// For a response that cannot be sent any more.
void undeliver(HttpResponse response);

// Called once, from any thread. Calling it after the peer has left is not an error.
using Respond = std::move_only_function<void(HttpResponse)>;

// Called on the thread of the connection, with the right to answer, so that the thread that brings
// news of the store does not render the answer.
struct Resume {
  std::move_only_function<void(Respond respond)> go_on = {};
};

// A body that comes in pieces and is answered in pieces: status 200, chunked.
struct BodyStream {
  std::string content_type = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Takes the next piece; `last`: nothing follows. `done` is called once, from any thread, with
  // what to send (may be empty); the next piece comes only after that. `over`: nothing more will be
  // sent, and what may still come of the body is not read. If the connection ends before the last
  // piece, `feed` is destroyed and HttpHandler::closed is called.
  using Done = std::move_only_function<void(std::string text, bool over)>;
  std::move_only_function<void(std::string piece, bool last, Done done)> feed = {};
};

// A body that is read as a whole.
struct Whole {
  std::size_t most = 0;  // bytes; more is answered 413
  // Called once, with all of the body, on the listener's thread; must not block. It holds what the
  // handler found out from the head, so exactly the request that was let in is handled. Destroyed
  // uncalled if the body does not come.
  std::move_only_function<void(std::string body, Respond respond)> handle = {};
};

// What to do with a body, decided when only the head is there.
using BodyPlan = std::variant<Whole, BodyStream, HttpResponse>;

// What the listener calls, on its own threads; must not block.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;

  // Decides from the head, which has no body yet, how the request goes on. `peer` is its
  // connection; changes to `peer` last until the connection ends.
  virtual BodyPlan plan(HttpRequest head, Peer& peer) = 0;
  // The connection is gone; answers for it go nowhere. Called once, and only after a plan().
  virtual void closed(const Peer& peer) = 0;
  // A response the listener makes itself: 400 (not HTTP), 408, 413, 417, 431, 500 (the handler
  // threw or dropped its Respond), 501 (a transfer encoding), 503 (too many connections).
  virtual HttpResponse problem(unsigned status, std::string_view detail) = 0;
};

}  // namespace millrace::api
