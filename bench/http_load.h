// The load: many connections to one server, one thread, as cheap as possible, since it shares the
// machine with what it measures. Requests are whole texts made beforehand; of an answer it reads
// only the status and the body. One request at a time on each connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::bench {

// A whole request; without a body where there is none.
std::string http_request(std::string_view method, std::string_view target,
                         std::string_view body = {});

struct Answer {
  std::size_t connection = 0;
  unsigned status = 0;
  std::string_view body = {};  // valid only during the callback
};
using Answered = std::function<void(const Answer&)>;

struct Reply {
  unsigned status = 0;
  std::string body;
};

class HttpLoad {
 public:
  // Connects to 127.0.0.1:port, with so many connections.
  explicit HttpLoad(std::uint16_t port, std::size_t connections = 0);
  HttpLoad(const HttpLoad&) = delete;
  HttpLoad& operator=(const HttpLoad&) = delete;
  ~HttpLoad();

  // One more connection; returns its number, counted from 0.
  std::size_t connect();
  std::size_t connections() const { return connections_.size(); }

  void send(std::size_t connection, std::string_view request);

  // Passes on every answer until `until` (of wall_seconds()) or stop(). The callback may send the
  // next request. If the server closes a connection, the bench ends.
  void run(double until, const Answered& answered);
  void stop() { stopped_ = true; }

  // Passes on the answers that are still to come, stop() or not.
  void finish(const Answered& answered);

  // One request alone, while nothing else is on its way.
  Reply ask(std::size_t connection, std::string_view request);

 private:
  struct Connection {
    int socket = -1;
    bool busy = false;
    std::string in;   // the part of an answer that has come; mostly empty
    std::string out;  // what the socket did not take at once
  };

  void wait(double until, const Answered& answered);
  void receive(std::size_t index, const Answered& answered);
  void send_rest(std::size_t index);
  void watch(std::size_t index, bool writing, int operation);
  // How many bytes the answer at the front of `bytes` takes; 0: it is not all there.
  std::size_t hand_over(std::size_t index, std::string_view bytes, const Answered& answered);

  std::uint16_t port_;
  int epoll_;
  std::vector<Connection> connections_;
  std::vector<char> scratch_;  // most answers come whole and never leave it
  std::size_t busy_ = 0;
  bool stopped_ = false;
};

}  // namespace millrace::bench
