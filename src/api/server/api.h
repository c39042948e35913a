// The HTTP API: everything between a request and the broker. Build it, give its handler to a
// listener, and tell it what the server is doing.
#pragma once

#include <millrace/result.h>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/server/api_options.h"
#include "api/server/call.h"
#include "api/server/http.h"
#include "api/server/watching.h"
#include "broker/local_broker.h"
#include "core/mutex.h"

namespace millrace::api {

class Api {
 public:
  // `broker` may come later: until start() everything that needs one is 503 `starting`.
  explicit Api(ApiOptions options);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // How far the store has been opened, for whoever asks: "replaying segment 3 of 17".
  void progress(std::string text);
  // The broker must outlive the last request.
  void start(LocalBroker& broker);
  // From now on new requests are 503 `stopping`.
  void stop();

  // For the listener. This must outlive it.
  HttpHandler handler();
  // For a listener of its own: /metrics, /health and /ready, without keys.
  HttpHandler metrics_handler();
  EventStreams& event_streams() { return watching_.streams; }

 private:
  enum class State : std::uint8_t { starting, ready, stopping };

  // What is known of a connection between its requests.
  struct Connection {
    CallerId caller = {};
    // Found out when the head came, for the request that follows it.
    const Route* route = nullptr;
    std::string authorization = {};
    std::string cookie = {};
    std::shared_ptr<const Principal> principal = nullptr;
  };
  struct Shard {
    Mutex mutex;
    std::unordered_map<ConnectionId, Connection> connections GUARDED_BY(mutex);
  };

  BodyPlan plan(const HttpRequest& head);
  void handle(HttpRequest request, Respond respond);
  void closed(ConnectionId connection);

  // Whether the request may go on, by its head. nullopt: it may; otherwise what to answer.
  std::optional<Problem> refusal(const HttpRequest& head, const Match& found,
                                 std::shared_ptr<const Principal>& principal);
  std::optional<Problem> not_ready() const;
  std::string_view without_base(std::string_view target) const;
  std::unique_ptr<Call> make_call(HttpRequest request);
  // Gives the call its route, what stands in its path, and its query.
  std::optional<Problem> lead(Call& call, const Match& found);
  HttpResponse server_answer(const Call& call);
  static HttpResponse health();
  HttpResponse ready() const;
  void show_metrics(Respond respond);
  std::string request_id(std::string_view given);

  Shard& shard(ConnectionId connection) { return shards_[connection % shards_.size()]; }
  void remember(const HttpRequest& head, const Route* route,
                std::shared_ptr<const Principal> principal);
  // True: this request's head was let through before, and the call knows for whom.
  bool recall(Call& call, const Route* route);
  CallerId caller_of(ConnectionId connection);

  SystemClock clock_;  // where no other was given
  ApiOptions options_;
  Watching watching_;
  std::atomic<State> state_ = State::starting;
  std::atomic<LocalBroker*> broker_ = nullptr;
  std::atomic<std::uint64_t> next_request_ = 0;
  mutable Mutex progress_mutex_;
  std::string progress_ GUARDED_BY(progress_mutex_);
  std::array<Shard, 32> shards_;
};

}  // namespace millrace::api
