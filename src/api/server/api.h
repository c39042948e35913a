// The HTTP API: everything between a request and the broker. Build it, give it to a listener, and
// say what the server is doing.
#pragma once

#include <millrace/result.h>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/server/api_options.h"
#include "api/server/api_state.h"
#include "api/server/call.h"
#include "api/server/http.h"
#include "api/server/metrics_port.h"
#include "broker/local_broker.h"
#include "core/mutex.h"

namespace millrace::api {

class Api final : public HttpHandler {
 public:
  // The broker comes later: until start() everything that needs one is 503 `starting`.
  explicit Api(ApiOptions options);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // What requests are told while the store is being opened: "replaying segment 3 of 17".
  void progress(std::string text);
  // The broker must outlive the last request.
  void start(LocalBroker& broker);
  // From now on new requests are 503 `stopping`.
  void stop();

  // For a listener of its own: /metrics, /health and /ready, without keys.
  HttpHandler& metrics_port() { return metrics_port_; }
  EventStreams& event_streams() { return kept_.streams; }

  // For the listener. Finds the route of a request, decides whether the request is let in, and
  // makes the call that handles it.
  BodyPlan plan(HttpRequest head, Peer& peer) override;
  void closed(const Peer& peer) override;
  HttpResponse problem(unsigned status, std::string_view detail) override;

 private:
  enum class State : std::uint8_t { starting, ready, stopping };

  class Monitoring final : public MetricsPort {
   public:
    explicit Monitoring(Api& api) : api_(api) {}

   private:
    void metrics(Respond respond) override { api_.show_metrics(std::move(respond)); }
    std::optional<HttpResponse> health() override { return Api::health(); }
    std::optional<HttpResponse> ready() override { return api_.ready(); }

    Api& api_;
  };

  // Whether the request may go on, by its head. nullopt: it may, on behalf of `principal`;
  // otherwise what to answer.
  std::optional<Problem> refusal(const HttpRequest& head, const Match& found, Principal& principal);
  std::optional<Problem> not_ready() const;
  std::string_view without_base(std::string_view target) const;
  // Gives the call its request, and whatever else is known once the head was let in.
  void begin(Call& call, HttpRequest&& head, Peer& peer);
  // Handles a request that was let in, once its body is there.
  void handle(CallPtr call, std::string body, Respond respond);
  HttpResponse server_answer(const Call& call);
  static HttpResponse health();
  HttpResponse ready() const;
  void show_metrics(Respond respond);
  std::string request_id(std::string_view given);

  SystemClock clock_;  // used if the options name none
  ApiOptions options_;
  ApiState kept_;
  Monitoring metrics_port_{*this};
  std::atomic<State> state_ = State::starting;
  std::atomic<LocalBroker*> broker_ = nullptr;
  std::atomic<std::uint64_t> next_request_ = 0;
  mutable Mutex progress_mutex_;
  std::string progress_ GUARDED_BY(progress_mutex_);
};

}  // namespace millrace::api
