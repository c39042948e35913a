// One connection: reads requests, has them answered one after another, and leaves when it should.
// Lives on its lane's thread; only lane(), and what Ticket does, may be used from others.
//
// connection.cc moves bytes, exchange.cc makes requests and answers of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/server/http.h"
#include "api/server/lane.h"
#include "api/server/read_buffer.h"
#include "api/server/request_parser.h"
#include "api/server/tls.h"

namespace millrace::api {

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Lane> lane, Lane::Socket socket,
             std::shared_ptr<const TlsSettings> tls);
  ~Connection();

  void start();
  void refuse();  // there are too many connections
  void answered(Answer& answer);
  // Called by the lane after the connection asked to read later.
  void resume_reading();
  void resume_watching();
  void expired();  // what it waited for did not come in time
  void drain();    // closes now if it is idle, otherwise after the next answer
  void close();

  Lane& lane() { return *lane_; }

 private:
  friend class Lane;  // its place in the lane's lists

  enum class Phase : std::uint8_t {
    handshake,
    idle,       // between requests
    head,       // some of a head has come
    body,       // the head has been looked at
    waiting,    // for the handler
    sending,    // the answer
    streaming,  // body and answer go by in pieces
    pushing,    // the answer is made while it is sent
    lingering,  // the last answer is sent; what still comes is thrown away
    closed,
  };

  static constexpr std::string_view interim = "HTTP/1.1 100 Continue\r\n\r\n";
  static constexpr std::size_t body_room = 64 * 1024;         // to read a body with
  static constexpr std::size_t stream_backlog = 1024 * 1024;  // unsent answers of a stream

  struct Stream {
    BodyStream handler;
    std::string piece = {};
    bool feeding = false;  // the handler has a piece
    bool last = false;     // and it was the last
    bool head_sent = false;
  };
  struct Push {
    std::unique_ptr<PushStream> source;
    bool asked = false;  // for a piece
  };

  // Reading.
  void progress();
  void step();
  void read();
  void read_later();
  std::size_t wanted_room() const;
  void read_plain();
  void read_tls();
  void tls_readable();
  void reset_seen();
  void on_read(const boost::system::error_code& ec, std::size_t bytes);
  void received(std::size_t bytes);
  void ended();
  void watch_for_reset();
  void shake_hands();

  // Requests.
  void read_head();
  void begin();
  void plan_whole(Whole whole);
  void plan_response(HttpResponse response);
  void read_body();
  bool has_room_for_body();
  std::string take_body();
  void dispatch();
  void resume(HttpResponse response);
  void expect_body();

  // Streams.
  void stream_step();
  void feed_piece();
  void piece_answered(const std::string& text, bool over);
  void break_stream_off();
  void abort_stream(unsigned status, std::string_view detail);
  void begin_push(std::unique_ptr<PushStream> source);
  void ask_soon();
  void ask_for_piece();
  void piece_made(std::string piece, bool last);
  void push_sent();

  // Answering.
  void fail(unsigned status, std::string_view detail);
  void respond(HttpResponse response);
  void transmit(std::string_view text, std::string body = {});
  std::size_t write_now(std::string_view text, std::string_view body);
  std::size_t write_tls(std::string_view text, std::string_view body);
  void wait_writable();
  void on_writable();
  void sent();
  void leave();
  void count_unread();
  void give_up_answer(HttpResponse response);
  std::size_t unsent() const { return out_.size() + tail_.size() - out_at_; }
  bool backed_up() const { return unsent() > stream_backlog; }  // a stream is read no further

  void wait(boost::asio::socket_base::wait_type what, void (Connection::*then)());

  std::shared_ptr<Lane> lane_;
  Lane::Socket socket_;
  std::shared_ptr<const TlsSettings> tls_settings_;
  std::unique_ptr<TlsSession> tls_;
  Peer peer_;
  std::string remote_;

  // In the lane's lists.
  Lane::Connections::iterator place_;
  Awaited awaited_ = Awaited::nothing;
  std::chrono::nanoseconds deadline_{0};

  Phase phase_ = Phase::idle;
  bool busy_ = false;              // progress() is at work
  bool again_ = false;             // and has to look once more
  bool reading_ = false;           // a read is under way; the buffer must stay where it is
  bool read_asked_ = false;        // the lane will call resume_reading()
  bool watch_asked_ = false;       // the lane will call resume_watching()
  bool writing_ = false;           // what is left waits until the peer takes it
  bool ended_ = false;             // nothing more will come from the peer
  bool asked_ = false;             // the handler has heard of this connection
  bool keep_ = false;              // another request may follow this one
  bool peer_closes_ = false;       // the peer expects the connection to end
  bool bodiless_ = false;          // HEAD: the answer's body is left out
  bool write_wants_read_ = false;  // TLS has to read before it can write

  ReadBuffer inbox_;
  RequestParser parser_;
  std::size_t body_progress_ = 0;
  std::string body_;              // of a request that is read as a whole
  std::size_t counted_body_ = 0;  // bytes of it that the site knows of
  std::move_only_function<void(std::string body, Respond respond)> handle_;  // what to do with it
  std::unique_ptr<HttpResponse> early_;  // the answer once the body is thrown away
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Push> push_;

  // What could not be written at once: out_ from out_at_ on, then tail_.
  std::string out_;
  std::string tail_;
  std::size_t out_at_ = 0;
  std::size_t counted_ = 0;         // bytes of these two that the site counts
  std::size_t write_progress_ = 0;  // since the deadline was set
  std::move_only_function<void()> undelivered_;
};

}  // namespace millrace::api
