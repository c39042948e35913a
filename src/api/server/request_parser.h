// Bytes to requests: the HTTP/1.x grammar with what makes it safe, and nothing about sockets.
//
// Framing that two parsers could read differently is refused: Content-Length beside
// Transfer-Encoding, encodings other than chunked, HTTP/1.1 without exactly one Host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/server/http.h"

namespace millrace::api {

class RequestParser {
 public:
  enum class Step : std::uint8_t {
    more,    // what was not taken must come again, with more behind it
    head,    // the head is complete; say what to do with the body, then go on
    done,    // the request is complete; reset() before the next
    failed,  // see status() and detail(); nothing more can be read from this connection
  };
  struct Fed {
    std::size_t taken = 0;
    Step step = Step::more;
  };

  explicit RequestParser(std::size_t header_limit);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  void reset();
  Fed feed(std::string_view bytes);

  // Where body bytes go (nullptr: nowhere), and after how many of them the request fails with 413.
  void collect(std::string* into, std::uint64_t most);

  // Once the head is complete; may be moved away. Its body stays empty: see collect().
  HttpRequest& request();
  bool http11() const;
  bool keep_alive() const;
  bool expects_continue() const;
  bool done() const;                                    // no body, or all of it was read
  std::optional<std::uint64_t> remaining() const;       // of the body; nothing if it is chunked
  std::optional<std::uint64_t> content_length() const;  // nothing if it is chunked

  bool begun() const;       // something of a request has been read
  bool has_head() const;    // the head is complete
  unsigned status() const;  // of the failure: 400, 413, 417, 431, 501
  std::string_view detail() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace::api
