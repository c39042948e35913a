// Where requests come from: listens, speaks HTTP/1.1 and 1.0, plain or over TLS, and holds every
// peer to its limits. What is asked and answered goes through an HttpHandler.
//
// A connection answers its requests one after another. While an answer is awaited, the listener
// notices when the peer leaves. A peer that has only ended its sending (shutdown(SHUT_WR), as
// `nc -N` does) looks the same at first, so the listener sends an interim 100 Continue: a peer that
// has closed answers it with a reset; one that still reads waits on and gets its answer. HTTP/1.0
// has no interim responses; there the answer must come within limits.linger. With TLS, a peer that
// ends its sending is taken to have left.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/server/http.h"
#include "api/server/tls.h"
#include "core/clock.h"
#include "core/log.h"

namespace millrace::api {

struct ListenerLimits {
  std::size_t header_bytes = 16 * 1024;  // more is answered 431
  std::size_t connections = 20'000;      // more are answered 503
  std::size_t refusals = 256;            // at once; even more are closed without a word
  std::size_t unread = std::size_t{256}
                       << 20U;  // bytes of answers that peers have not read, of all
  std::size_t bodies = std::size_t{256} << 20U;   // bytes of bodies that are being received, of all
  Duration idle = std::chrono::seconds(75);       // between requests, and before the first
  Duration header = std::chrono::seconds(10);     // from the first byte of a head to its last
  Duration body = std::chrono::seconds(30);       // for each 4 KiB of a body, or what is left of it
  Duration write = std::chrono::seconds(30);      // for each 64 KiB of an answer, or what is left
  Duration handshake = std::chrono::seconds(10);  // of TLS
  Duration linger = std::chrono::seconds(2);      // for the peer to read a last answer and leave
  Duration leaving = std::chrono::seconds(2);  // while draining: the most of all but idle, linger
};

struct ListenerOptions {
  std::string address = "127.0.0.1";  // or a name; :: is every address, IPv4 too
  std::uint16_t port = 7070;          // 0: any free one
  std::optional<TlsFiles> tls = std::nullopt;
  unsigned threads = 1;
  ListenerLimits limits = {};
};

struct ListenerCounts {
  std::uint64_t open = 0;      // connections, now
  std::uint64_t accepted = 0;  // connections, ever
  std::uint64_t refused = 0;   // connections over the limit, ever
  std::uint64_t requests = 0;  // ever
  std::uint64_t bodies = 0;    // bytes of bodies that are being received, now
  std::uint64_t unread = 0;    // bytes of answers that wait for their peers, now
  std::uint64_t kept = 0;      // bytes of answers that had to wait, ever
};

class Listener {
 public:
  // Listens and serves when it returns. The handler and the clock must outlive the listener.
  static Result<std::unique_ptr<Listener>> start(ListenerOptions options, HttpHandler& handler,
                                                 Clock& clock, Log log = {});
  ~Listener();  // stop()
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const;  // the real one
  ListenerCounts counts() const;

  // Reads the TLS files again, for connections to come. If it fails, the old ones stay in use.
  Result<void> reload_tls();

  // In this order, and not from the handler's functions. None of the handler's functions runs once
  // stop() has returned; a Respond that is called later calls its response's `undelivered`.
  void stop_accepting();
  // Closes idle connections at once and the others after their next answer; a stream of lines ends
  // after the lines that have come. A peer that keeps the listener waiting has limits.leaving.
  // Returns whether all were gone in time.
  bool drain(Duration most);
  void stop();

 private:
  class Engine;
  explicit Listener(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

// Lets this process have as many open files as the system allows it, and says how many.
Result<std::uint64_t> raise_open_files();
// How many open files this process may have.
std::uint64_t most_open_files();

// Makes `limits` fit into `files` open files of which `reserved` are for other things, at most half
// of them: a peer that only connects must not take the files that the store needs.
void fit_into_files(ListenerLimits& limits, std::uint64_t files, std::uint64_t reserved);

}  // namespace millrace::api
