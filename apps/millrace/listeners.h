// Where a server answers: one address for clients, one for metrics, and one for its own worker
// processes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/server/listener.h"
#include "config/config.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/values.h"

namespace millrace {

class Listeners {
 public:
  Listeners(const config::Settings& settings, Clock& clock, Log log);

  // Why the server cannot start, and what to do about it.
  struct Refusal {
    Error error;
    std::string advice;
  };

  std::optional<Refusal> start(api::HttpHandler& clients);
  // The address of `metrics.listen`, if there is one.
  std::optional<Refusal> start_metrics(api::HttpHandler& metrics);
  // The address for worker processes, which connect from this machine, without TLS.
  Result<std::string> start_inner(api::HttpHandler& workers);

  config::Address address() const { return {settings_.listen.host, clients_->port()}; }
  std::size_t most_connections() const { return connections_; }
  // Of clients; zeros before start().
  api::ListenerCounts counts() const {
    return clients_ ? clients_->counts() : api::ListenerCounts();
  }

  void reload_tls();
  // The allocator keeps what large answers took; it goes back to the system once few wait.
  void give_memory_back();

  void stop_inner();
  // Whether all clients were answered in time. Those without a request do not wait.
  bool drain(Duration most) { return clients_->drain(most); }
  void stop();

 private:
  std::optional<Refusal> write_address_file() const;

  const config::Settings& settings_;
  Clock& clock_;
  const Log log_;
  std::unique_ptr<api::Listener> clients_;
  std::unique_ptr<api::Listener> metrics_;
  std::unique_ptr<api::Listener> inner_;  // if worker processes cannot use the one of clients
  std::size_t connections_ = 0;           // how many clients there may be
  // Of the bytes of answers that had to wait, those whose memory was given back.
  std::uint64_t given_back_ = 0;
};

}  // namespace millrace
