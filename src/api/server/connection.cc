#include "api/server/connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <exception>
#include <utility>

#include "core/ensure.h"

namespace millrace::api {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t small_room = 4 * 1024;       // what an idle connection holds
constexpr std::size_t stream_room = 256 * 1024;    // the largest piece of a stream
constexpr std::size_t body_progress = 4 * 1024;    // earns a body another limits.body
constexpr std::size_t write_progress = 64 * 1024;  // earns an answer another limits.write
constexpr std::size_t loose_body = 1024 * 1024;    // from here on, room that is not used counts
constexpr int unsent_in_kernel = 128 * 1024;       // and the socket takes more below half of it

void set_options(int socket) {
  const auto set = [socket](int level, int name, int value) {
    ::setsockopt(socket, level, name, &value, sizeof(value));
  };
  // The kernel would keep megabytes of an answer that is not read, which no limit counts, and would
  // call the socket writable only after a third of them, so that slow reading looked like none.
  set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent_in_kernel);
  // A peer that vanishes without a word is noticed after two minutes.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

}  // namespace

Connection::Connection(std::shared_ptr<Lane> lane, Lane::Socket socket,
                       std::shared_ptr<const TlsSettings> tls)
    : lane_(std::move(lane)),
      socket_(std::move(socket)),
      tls_settings_(std::move(tls)),
      parser_(lane_->site().limits.header_bytes) {}

Connection::~Connection() = default;

void Connection::start() {
  error_code ec;
  ec = socket_.non_blocking(true, ec);
  ec = socket_.set_option(asio::ip::tcp::no_delay(true), ec);
  set_options(socket_.native_handle());
  const auto peer = socket_.remote_endpoint(ec);
  if (ec) return close();  // it has left already
  remote_ = peer.address().to_string();
  if (tls_settings_) {
    tls_ = std::make_unique<TlsSession>(*tls_settings_, socket_.native_handle());
    phase_ = Phase::handshake;
    lane_->await(*this, Awaited::handshake);
    shake_hands();
  } else {
    lane_->await(*this, Awaited::idle);
    progress();
  }
}

void Connection::refuse() {
  error_code ec;
  ec = socket_.non_blocking(true, ec);
  if (tls_settings_) return close();
  fail(503, "there are too many connections; try again later");
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  const std::shared_ptr<Connection> self = shared_from_this();
  phase_ = Phase::closed;
  error_code ignored;
  ignored = socket_.close(ignored);
  tls_.reset();
  handle_ = {};
  stream_.reset();
  push_.reset();
  out_ = {};
  tail_ = {};
  out_at_ = 0;
  lane_->site().unread -= std::exchange(counted_, 0);
  lane_->site().bodies -= std::exchange(counted_body_, 0);
  lane_->remove(*this);
  lane_->dispatch([&] {
    try {
      if (undelivered_) std::exchange(undelivered_, {})();
      if (asked_) lane_->site().handler.closed(peer_);
    } catch (...) {
      lane_->site().log(LogLevel::error, "the end of a connection threw: " + thrown());
    }
  });
}

void Connection::drain() {
  const bool unasked = phase_ == Phase::idle || phase_ == Phase::handshake;
  if (unasked && inbox_.empty()) close();
  if (phase_ == Phase::pushing && !writing_ && push_->source->endless) piece_made({}, true);
  if (phase_ == Phase::streaming) progress();
}

void Connection::expired() {
  switch (phase_) {
    case Phase::head:
      return fail(408, "the head of the request did not come in time");
    case Phase::body:
      return fail(408, "the body of the request did not come in time");
    case Phase::streaming:
      return abort_stream(408, "the body of the request did not come in time");
    default:
      return close();
  }
}

// ---- reading ------------------------------------------------------------------------------------

void Connection::wait(asio::socket_base::wait_type what, void (Connection::*then)()) {
  socket_.async_wait(what, [self = shared_from_this(), then](const error_code&) {
    self->lane_->attend(self, [&] {
      if (self->phase_ != Phase::closed) ((*self).*then)();
    });
  });
}

// Handles what has been read, as far as possible. Never nested, so that a thousand small requests
// in one packet cost no stack.
void Connection::progress() {
  if (busy_) {
    again_ = true;
    return;
  }
  busy_ = true;
  do {
    again_ = false;
    step();
  } while (again_ && phase_ != Phase::closed);
  busy_ = false;
}

void Connection::step() {
  switch (phase_) {
    case Phase::idle:
    case Phase::head:
      return read_head();
    case Phase::body:
      return read_body();
    case Phase::streaming:
      return stream_step();
    case Phase::lingering:
      inbox_.consume(inbox_.filled().size());
      return read();
    case Phase::waiting:
      return read_later();  // to notice when the peer leaves; what comes is kept for later
    case Phase::sending:
    case Phase::pushing:
      return read();
    case Phase::handshake:
    case Phase::closed:
      return;
  }
}

std::size_t Connection::wanted_room() const {
  switch (phase_) {
    case Phase::head:
      return inbox_.full() ? std::max(lane_->site().limits.header_bytes, small_room) : small_room;
    case Phase::body: {
      const std::uint64_t left = parser_.remaining().value_or(inbox_.full() ? body_room : 0);
      return static_cast<std::size_t>(std::clamp<std::uint64_t>(left, small_room, body_room));
    }
    case Phase::streaming:
      return inbox_.full() ? stream_room : body_room;
    case Phase::lingering:
      return body_room;
    default:
      return small_room;
  }
}

void Connection::read() {
  if (reading_ || ended_ || phase_ == Phase::closed) return;
  inbox_.prepare(wanted_room());
  if (inbox_.room().empty()) {
    // Pipelined requests can wait, but a request that needs more room than there is cannot go on.
    if (phase_ == Phase::head || phase_ == Phase::body)
      fail(400, "a line of the request is too long");
    return;
  }
  if (tls_) {
    read_tls();
  } else {
    read_plain();
  }
}

void Connection::read_later() {
  if (reading_ || ended_) return;
  if (phase_ == Phase::waiting) {
    if (!std::exchange(watch_asked_, true)) lane_->watch_soon(shared_from_this());
  } else {
    if (!std::exchange(read_asked_, true)) lane_->read_soon(shared_from_this());
  }
}

void Connection::resume_reading() {
  read_asked_ = false;
  if (phase_ == Phase::idle) read();
}

// Meanwhile the answer may have been sent, and the connection may wait for another one.
void Connection::resume_watching() {
  watch_asked_ = false;
  if (phase_ == Phase::waiting) read();
}

void Connection::read_plain() {
  reading_ = true;
  const std::span<char> room = inbox_.room();
  socket_.async_read_some(asio::buffer(room.data(), room.size()),
                          [self = shared_from_this()](const error_code& ec, std::size_t bytes) {
                            self->lane_->attend(self, [&] { self->on_read(ec, bytes); });
                          });
}

void Connection::on_read(const error_code& ec, std::size_t bytes) {
  reading_ = false;
  if (phase_ == Phase::closed) return;
  if (ec == asio::error::eof) return ended();
  if (ec) return close();
  received(bytes);
  progress();
}

void Connection::read_tls() {
  const TlsSession::Moved moved = tls_->read(inbox_.room());
  switch (moved.wait) {
    case TlsWait::none:
      received(moved.bytes);
      return progress();
    case TlsWait::readable:
    case TlsWait::writable:
      reading_ = true;
      return wait(moved.wait == TlsWait::readable ? asio::socket_base::wait_read
                                                  : asio::socket_base::wait_write,
                  &Connection::tls_readable);
    case TlsWait::ended:
      return ended();
    default:
      return close();
  }
}

void Connection::tls_readable() {
  reading_ = false;
  progress();
}

void Connection::received(std::size_t bytes) {
  inbox_.commit(bytes);
  if (phase_ == Phase::body) {
    body_progress_ += bytes;
    if (body_progress_ < body_progress) return;
    body_progress_ = 0;
    lane_->await(*this, Awaited::body);
  } else if (phase_ == Phase::streaming && awaited_ != Awaited::nothing) {
    lane_->await(*this, backed_up() ? Awaited::write : Awaited::body);
  }
}

// The peer sends nothing more. Whether it still reads is not known; see listener.h.
void Connection::ended() {
  ended_ = true;
  switch (phase_) {
    case Phase::lingering:
      return close();
    case Phase::waiting:
      if (tls_) return close();
      watch_for_reset();
      if (parser_.http11()) return transmit(interim);
      return lane_->await(*this, Awaited::linger);
    case Phase::pushing:
      if (tls_ || push_->source->endless) return close();
      return watch_for_reset();
    case Phase::sending:
    case Phase::streaming:
      if (!tls_) watch_for_reset();
      return progress();
    default:
      return progress();
  }
}

void Connection::watch_for_reset() {
  wait(asio::socket_base::wait_error, &Connection::reset_seen);
}

void Connection::reset_seen() {
  close();
}

void Connection::shake_hands() {
  switch (tls_->accept()) {
    case TlsWait::none:
      phase_ = Phase::idle;
      lane_->await(*this, Awaited::idle);
      return progress();
    case TlsWait::readable:
      return wait(asio::socket_base::wait_read, &Connection::shake_hands);
    case TlsWait::writable:
      return wait(asio::socket_base::wait_write, &Connection::shake_hands);
    case TlsWait::plain_http:
      tls_.reset();
      return fail(400, "this port speaks HTTPS; the request was sent in plain HTTP");
    default:
      return close();
  }
}

// ---- writing ------------------------------------------------------------------------------------

// Writes what the socket takes now and keeps the rest. Ends the connection if the peer is gone.
void Connection::transmit(std::string_view text, std::string body) {
  if (writing_) {
    ensure(tail_.empty(), "a body was to be sent behind another one that waits");
    out_.append(text);
    tail_ = std::move(body);
    return count_unread();
  }
  const std::size_t written = write_now(text, body);
  if (phase_ == Phase::closed || written == text.size() + body.size()) return;
  const std::size_t of_text = std::min(written, text.size());
  out_.assign(text.substr(of_text));
  out_at_ = written - of_text;
  tail_ = std::move(body);
  // A text that grew bit by bit has up to twice the room that it needs.
  if (tail_.size() > loose_body && tail_.capacity() - tail_.size() > tail_.size() / 4) {
    tail_ = std::string(tail_, std::exchange(out_at_, 0));
  }
  write_progress_ = 0;
  count_unread();
  if (phase_ != Phase::closed) wait_writable();
}

// Tells the site how much waits here. What all connections keep for peers that do not read is
// bounded; the one that would go beyond that is closed.
void Connection::count_unread() {
  Site& site = lane_->site();
  const std::size_t now = writing_ || unsent() > 0 ? out_.capacity() + tail_.capacity() : 0;
  const std::size_t before = std::exchange(counted_, now);
  if (now < before) {
    site.unread -= before - now;
  } else if (now > before) {
    site.kept += now - before;
    const std::uint64_t all = site.unread += now - before;
    if (all > site.limits.unread && all != now) close();  // one answer alone may be larger
  }
}

std::size_t Connection::write_now(std::string_view text, std::string_view body) {
  if (tls_) return write_tls(text, body);
  std::size_t written = 0;
  while (written < text.size() + body.size()) {
    const std::string_view first = text.substr(std::min(written, text.size()));
    const std::string_view second = body.substr(written - std::min(written, text.size()));
    const std::array<asio::const_buffer, 2> both{asio::buffer(first), asio::buffer(second)};
    error_code ec;
    written += second.empty() ? socket_.write_some(both[0], ec) : socket_.write_some(both, ec);
    if (ec == asio::error::would_block || ec == asio::error::try_again) break;
    if (ec) {
      close();
      break;
    }
  }
  return written;
}

std::size_t Connection::write_tls(std::string_view text, std::string_view body) {
  std::size_t written = 0;
  while (written < text.size() + body.size()) {
    const TlsSession::Moved moved = written < text.size()
                                        ? tls_->write(text.substr(written))
                                        : tls_->write(body.substr(written - text.size()));
    written += moved.bytes;
    if (moved.wait == TlsWait::none) continue;
    write_wants_read_ = moved.wait == TlsWait::readable;
    if (moved.wait != TlsWait::readable && moved.wait != TlsWait::writable) close();
    break;
  }
  return written;
}

void Connection::wait_writable() {
  writing_ = true;
  wait(write_wants_read_ ? asio::socket_base::wait_read : asio::socket_base::wait_write,
       &Connection::on_writable);
}

// Asks by way of the reactor, so that a body that always has more to send does not keep other
// connections waiting.
void Connection::ask_soon() {
  wait(asio::socket_base::wait_write, &Connection::ask_for_piece);
}

void Connection::on_writable() {
  const std::size_t of_out = std::min(out_at_, out_.size());
  const std::size_t written = write_now(std::string_view(out_).substr(of_out),
                                        std::string_view(tail_).substr(out_at_ - of_out));
  if (phase_ == Phase::closed) return;
  out_at_ += written;
  if (unsent() > 0) {
    write_progress_ += written;
    // A peer may read the answers of a stream before it sends more.
    const bool timed =
        awaited_ == Awaited::write || (phase_ == Phase::streaming && awaited_ == Awaited::body);
    if (write_progress_ >= write_progress && timed) {
      write_progress_ = 0;
      lane_->await(*this, awaited_);
    }
    return wait_writable();
  }
  writing_ = false;
  out_ = {};
  tail_ = {};
  out_at_ = 0;
  count_unread();
  sent();
}

// The last answer is sent. Closing while bytes of the peer are unread would reset the connection,
// and the peer might never see the answer; so the peer is given time to read it and to close first.
void Connection::leave() {
  const bool nothing_follows = peer_closes_ && parser_.done() && inbox_.empty();
  if (ended_ || nothing_follows) {
    if (tls_) tls_->shut_down();
    return close();
  }
  phase_ = Phase::lingering;
  lane_->await(*this, Awaited::linger);
  if (tls_) tls_->shut_down();
  error_code ignored;
  ignored = socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  progress();
}

}  // namespace millrace::api
