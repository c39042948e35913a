// What the tests of the transport talk to: a listener with a handler that does a bit of everything.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/server/listener.h"
#include "tests/support/raw_client.h"

namespace millrace::api {

// For listeners that get no requests.
class NoHandler final : public HttpHandler {
 public:
  BodyPlan plan(HttpRequest, Peer&) override { return HttpResponse{.status = 404}; }
  void closed(const Peer&) override {}
  HttpResponse problem(unsigned status, std::string_view) override { return {.status = status}; }
};

class ServedTest : public ::testing::Test, private HttpHandler {
 protected:
  using Client = test::RawClient;
  using Reply = test::Reply;
  using Done = BodyStream::Done;

  struct Answering {
    Done done;
    void operator()(std::string text, bool over = false) { done(std::move(text), over); }
  };
  struct Piece {
    std::string text;
    bool last = false;
    Answering done;
  };

  void TearDown() override {
    if (listener_) listener_->stop();
  }

  void serve(ListenerLimits limits = {}, std::optional<TlsFiles> tls = {}, unsigned threads = 1) {
    auto started = Listener::start(
        {.port = 0, .tls = std::move(tls), .threads = threads, .limits = limits}, *this, time());
    ASSERT_TRUE(started.has_value()) << started.error().message;
    listener_ = std::move(*started);
  }

  // What the listener asks for the time.
  virtual Clock& time() { return clock_; }

  Client connect() { return Client(listener_->port()); }

  // Waits until `condition` holds for what the handler has seen.
  template <class Condition>
  bool eventually(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), condition);
  }
  template <class Change>
  auto locked(Change change) {
    const std::lock_guard lock(mutex_);
    return change();
  }

  // The Respond of the first parked request, once there is one.
  Respond parked() {
    if (!eventually([this] { return !parked_.empty(); })) return [](HttpResponse) {};
    return locked([this] {
      Respond first = std::move(parked_.front());
      parked_.erase(parked_.begin());
      return first;
    });
  }
  Piece next_piece() {
    if (!eventually([this] { return !pieces_.empty(); })) return {.text = "no piece", .done = {}};
    return locked([this] {
      Piece first = std::move(pieces_.front());
      pieces_.erase(pieces_.begin());
      return first;
    });
  }
  // Asks for a piece of a pushed body, once there are any.
  PushStream::Done next_ask() {
    if (!eventually([this] { return !asks_.empty(); })) return [](std::string, bool) {};
    return locked([this] {
      PushStream::Done first = std::move(asks_.front());
      asks_.erase(asks_.begin());
      return first;
    });
  }
  // Keeps each request for more; `forgotten_` counts the functions that were destroyed.
  auto noted_asks() {
    return [this, guard = std::shared_ptr<void>(nullptr, [this](void*) {
                    note([this] { ++forgotten_; });
                  })](PushStream::Done done) { note([&] { asks_.push_back(std::move(done)); }); };
  }
  HttpResponse pushed(std::move_only_function<void(PushStream::Done)> more, bool endless = false) {
    HttpResponse response{.content_type = "text/plain", .headers = {{"X-Request-Id", "r1"}}};
    response.push = std::make_unique<PushStream>(std::move(more), endless);
    return response;
  }
  std::size_t closed_count() {
    return locked([this] { return closed_.size(); });
  }

  unsigned undelivered_count() {
    return locked([this] { return undelivered_; });
  }

  HttpResponse watched(std::string body) {
    return {.content_type = "text/plain", .body = std::move(body), .undelivered = [this] {
              note([this] { ++undelivered_; });
            }};
  }

  ManualClock clock_{TimePoint(std::chrono::sys_days(std::chrono::year(1994) / 11 / 6) +
                               std::chrono::hours(8) + std::chrono::minutes(49) +
                               std::chrono::seconds(37))};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Respond> parked_;
  std::vector<Piece> pieces_;
  std::vector<PushStream::Done> asks_;
  unsigned forgotten_ = 0;
  // Connections are told apart by the numbers that the handler gives them.
  std::vector<std::uint64_t> closed_;
  std::vector<HttpRequest> requests_;
  std::vector<std::uint64_t> callers_;  // of the requests
  unsigned undelivered_ = 0;
  std::unique_ptr<Listener> listener_;

 private:
  template <class Change>
  void note(Change change) {
    {
      const std::lock_guard lock(mutex_);
      change();
    }
    changed_.notify_all();
  }

  void closed(const Peer& peer) override {
    note([&] { closed_.push_back(peer.caller); });
  }
  HttpResponse problem(unsigned status, std::string_view detail) override {
    return {
        .status = status, .content_type = "application/problem+json", .body = std::string(detail)};
  }

  BodyPlan plan(HttpRequest head, Peer& peer) override {
    if (peer.caller == 0) peer.caller = ++last_caller_;
    if (head.target == "/deny") return HttpResponse{.status = 401, .body = "denied"};
    if (head.target == "/plan-throws") throw std::runtime_error("on purpose");
    if (head.target == "/stream") {
      return BodyStream{
          .content_type = "application/x-ndjson",
          .headers = {{"X-Request-Id", "r1"}},
          .feed = [this](std::string text, bool last, Done done) {
            note([&] { pieces_.push_back({std::move(text), last, {std::move(done)}}); });
          }};
    }
    if (head.target == "/stream-echo") {
      return BodyStream{
          .content_type = "text/plain",
          .feed = [](std::string text, bool, Done done) { done(std::move(text), false); }};
    }
    const std::size_t most = head.target == "/small" ? 16 : 8 << 20;
    return Whole{.most = most,
                 .handle = [this, request = std::move(head), caller = peer.caller](
                               std::string body, Respond respond) mutable {
                   request.body = std::move(body);
                   handle(std::move(request), caller, std::move(respond));
                 }};
  }

  void handle(HttpRequest request, std::uint64_t caller, Respond respond) {
    const std::string target = request.target;
    if (target == "/park") {
      note([&] {
        requests_.push_back(std::move(request));
        callers_.push_back(caller);
        parked_.push_back(std::move(respond));
      });
    } else if (target == "/drop") {
      return;
    } else if (target == "/throw") {
      throw std::runtime_error("on purpose");
    } else if (target == "/inject") {
      respond({.content_type = "text/plain\r\nEvil: 1",
               .body = "x",
               .headers = {{"X-Good", "a\r\nEvil: 2\r\n\r\nbody"},
                           {"Bad\r\nEvil", "3"},
                           {"Content-Length", "99"},
                           {"Transfer-Encoding", "chunked"}}});
    } else if (target == "/push" || target == "/push-endless") {
      respond(pushed(noted_asks(), target != "/push"));
    } else if (target == "/none") {
      respond({.status = 204});
    } else if (target == "/last") {
      respond({.body = "bye", .headers = {{"connection", "close"}}});
    } else if (target == "/page") {
      respond({.content_type = "text/plain", .body = std::string(32 << 20, 'p')});
    } else if (target == "/big") {
      respond(watched(std::string(32 << 20, 'b')));
    } else {
      HttpResponse echo{.content_type = "text/plain", .body = request.target + "|" + request.body};
      note([&] {
        requests_.push_back(std::move(request));
        callers_.push_back(caller);
      });
      respond(std::move(echo));
    }
  }

  std::atomic<std::uint64_t> last_caller_ = 0;
};

}  // namespace millrace::api
