// The half of Connection that knows what a request is: planning, bodies, streams, answers.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "api/server/connection.h"
#include "api/server/response_text.h"

namespace millrace::api {

namespace {

constexpr std::size_t copied_body = 64 * 1024;     // a larger one is sent from where it is
constexpr std::size_t discarded_body = 64 * 1024;  // is read to keep a connection usable
constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// The right to answer once: a request, or a piece of a stream. Small enough to live inside a
// std::move_only_function. Dropping it is an answer too.
class Ticket {
 public:
  explicit Ticket(std::shared_ptr<Connection> to) noexcept : to_(std::move(to)) {}
  Ticket(Ticket&& other) noexcept = default;
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket() {
    if (to_) give({}, Answer::Kind::dropped);
  }
  void operator()(HttpResponse response) {
    if (to_) give(std::move(response), Answer::Kind::whole);
  }
  void operator()(std::string text, bool last) {
    const auto kind = last ? Answer::Kind::last_piece : Answer::Kind::piece;
    if (to_) give({.body = std::move(text)}, kind);
  }

 private:
  void give(HttpResponse response, Answer::Kind kind) {
    const std::shared_ptr<Connection> to = std::move(to_);
    to->lane().answer({to, std::move(response), kind});
  }
  std::shared_ptr<Connection> to_;
};

}  // namespace

// ---- requests -----------------------------------------------------------------------------------

void Connection::read_head() {
  const RequestParser::Fed fed = parser_.feed(inbox_.filled());
  inbox_.consume(fed.taken);
  switch (fed.step) {
    case RequestParser::Step::more:
      if (phase_ == Phase::idle && (parser_.begun() || !inbox_.empty())) {
        phase_ = Phase::head;
        lane_->await(*this, Awaited::header);
      }
      if (!ended_) return phase_ == Phase::idle ? read_later() : read();
      if (phase_ == Phase::idle) return close();
      return fail(400, "the connection ended before the head of the request did");
    case RequestParser::Step::failed:
      return fail(parser_.status(), parser_.detail());
    default:
      return begin();
  }
}

void Connection::begin() {
  Site& site = lane_->site();
  HttpRequest& request = parser_.request();
  request.remote = remote_;
  request.tls = tls_ != nullptr;
  keep_ = parser_.keep_alive();
  peer_closes_ = !keep_;
  bodiless_ = request.method == Method::head;
  body_progress_ = 0;
  asked_ = true;
  site.requests.fetch_add(1, std::memory_order_relaxed);
  BodyPlan plan;
  try {
    plan = site.handler.plan(std::move(request), peer_);
  } catch (...) {
    site.log(LogLevel::error, "planning a request threw: " + thrown());
    return fail(500, "the server has a defect; its log says more");
  }
  if (auto* whole = std::get_if<Whole>(&plan)) {
    plan_whole(std::move(*whole));
  } else if (auto* response = std::get_if<HttpResponse>(&plan)) {
    plan_response(std::move(*response));
  } else {
    stream_ = std::make_unique<Stream>(Stream{.handler = std::move(std::get<BodyStream>(plan))});
    keep_ = keep_ && parser_.http11();  // without chunks, closing ends the answer
    parser_.collect(&stream_->piece, no_limit);
    phase_ = Phase::streaming;
    expect_body();
  }
}

void Connection::plan_whole(Whole whole) {
  const std::optional<std::uint64_t> length = parser_.content_length();
  if (length && *length > whole.most) {
    return fail(413, fmt::format("the body may have {} bytes at most here, and has {}", whole.most,
                                 *length));
  }
  handle_ = std::move(whole.handle);
  if (parser_.done()) return dispatch();
  body_.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(length.value_or(0), body_room)));
  parser_.collect(&body_, whole.most);
  phase_ = Phase::body;
  expect_body();
}

// The answer does not depend on the body. A short body is thrown away, so that the connection can
// go on; a long one ends the connection.
void Connection::plan_response(HttpResponse response) {
  if (parser_.done()) return respond(std::move(response));
  const std::optional<std::uint64_t> left = parser_.remaining();
  if (parser_.expects_continue() || !left || *left > discarded_body) {
    keep_ = false;
    return respond(std::move(response));
  }
  early_ = std::make_unique<HttpResponse>(std::move(response));
  parser_.collect(nullptr, no_limit);
  phase_ = Phase::body;
  lane_->await(*this, Awaited::body);
  progress();
}

void Connection::expect_body() {
  lane_->await(*this, Awaited::body);
  if (parser_.expects_continue() && inbox_.empty() && !parser_.done()) transmit(interim);
  if (phase_ != Phase::closed) progress();
}

// Tells the site how much has come. What all connections have received of bodies that are not
// complete is bounded; a body that would go beyond that is refused, and its peer may try again. A
// quarter is left to small bodies, and one body alone may be larger.
bool Connection::has_room_for_body() {
  Site& site = lane_->site();
  const std::size_t more = body_.capacity() - counted_body_;
  if (more == 0) return true;
  counted_body_ += more;
  const std::uint64_t all = site.bodies += more;
  const std::size_t most = site.limits.bodies;
  return all == counted_body_ || all <= (body_.capacity() <= body_room ? most : most / 4 * 3);
}

std::string Connection::take_body() {
  lane_->site().bodies -= std::exchange(counted_body_, 0);
  return std::exchange(body_, {});
}

void Connection::read_body() {
  const RequestParser::Fed fed = parser_.feed(inbox_.filled());
  inbox_.consume(fed.taken);
  switch (fed.step) {
    case RequestParser::Step::done:
      if (!early_) return dispatch();
      return respond(std::move(*std::exchange(early_, nullptr)));
    case RequestParser::Step::failed:
      return fail(parser_.status(), parser_.detail());
    default:
      if (!has_room_for_body()) {
        return fail(503, "the server is receiving too many large requests; try again later");
      }
      if (!ended_) return read();
      return fail(400, "the connection ended before the body of the request did");
  }
}

void Connection::dispatch() {
  phase_ = Phase::waiting;
  lane_->await(*this, Awaited::nothing);
  lane_->dispatch([&] {
    try {
      auto handle = std::exchange(handle_, {});
      handle(take_body(), Ticket(shared_from_this()));
    } catch (...) {
      lane_->site().log(LogLevel::error, "handling a request threw: " + thrown());
    }
  });
  if (ended_ && phase_ == Phase::waiting) {
    ended();
  } else if (phase_ != Phase::closed) {
    progress();
  }
}

void Connection::answered(Answer& answer) {
  HttpResponse& response = answer.response;
  if (response.resume) return resume(std::move(response));
  if (phase_ == Phase::waiting) {
    if (answer.kind == Answer::Kind::whole) return respond(std::move(response));
    return fail(500, "the server has a defect: the request was left without an answer");
  }
  if (phase_ == Phase::streaming && stream_->feeding) {
    if (answer.kind == Answer::Kind::dropped) return close();
    return piece_answered(response.body, answer.kind == Answer::Kind::last_piece);
  }
  if (phase_ == Phase::pushing && push_->asked) {
    if (answer.kind == Answer::Kind::dropped) return close();
    return piece_made(std::move(response.body), answer.kind == Answer::Kind::last_piece);
  }
  undeliver(std::move(response));
}

void Connection::resume(HttpResponse response) {
  lane_->dispatch([&] {
    try {
      response.resume->go_on(Ticket(shared_from_this()));
    } catch (...) {
      lane_->site().log(LogLevel::error, "making an answer threw: " + thrown());
    }
  });
}

// ---- streams ------------------------------------------------------------------------------------

void Connection::stream_step() {
  Stream& stream = *stream_;
  if (stream.feeding || backed_up()) return read();  // one buffer ahead, no more
  if (!parser_.done()) {
    const RequestParser::Fed fed = parser_.feed(inbox_.filled());
    inbox_.consume(fed.taken);
    if (fed.step == RequestParser::Step::failed) {
      return abort_stream(parser_.status(), parser_.detail());
    }
  }
  if (!stream.piece.empty() || parser_.done()) return feed_piece();
  if (lane_->site().draining) return break_stream_off();
  if (!ended_) return read();
  abort_stream(400, "the connection ended before the body of the request did");
}

void Connection::feed_piece() {
  Stream& stream = *stream_;
  stream.feeding = true;
  stream.last = parser_.done();
  lane_->await(*this, writing_ ? Awaited::write : Awaited::nothing);
  lane_->dispatch([&] {
    try {
      stream.handler.feed(std::exchange(stream.piece, {}), stream.last, Ticket(shared_from_this()));
    } catch (...) {
      lane_->site().log(LogLevel::error, "a body stream threw: " + thrown());
    }
  });
  if (phase_ != Phase::closed) progress();
}

void Connection::piece_answered(const std::string& text, bool over) {
  Stream& stream = *stream_;
  stream.feeding = false;
  if (over && !stream.last) {
    stream.last = true;
    keep_ = false;  // the rest of the body stands between this request and the next
    peer_closes_ = false;
  }
  std::string& out = lane_->scratch();
  out.clear();
  const bool chunked = parser_.http11();
  if (!stream.head_sent && (!text.empty() || stream.last)) {
    stream.head_sent = true;
    append_head(out, {.content_type = stream.handler.content_type,
                      .headers = &stream.handler.headers,
                      .date = lane_->date(),
                      .http11 = chunked,
                      .keep_alive = keep_});
  }
  if (!text.empty() && chunked) fmt::format_to(std::back_inserter(out), "{:x}\r\n", text.size());
  out.append(text);
  if (!text.empty() && chunked) out.append("\r\n");
  if (stream.last) {
    if (chunked) out.append("0\r\n\r\n");
    phase_ = Phase::sending;
    stream_.reset();
  }
  transmit(out);
  if (phase_ == Phase::closed) return;
  if (phase_ == Phase::streaming && lane_->site().draining) return break_stream_off();
  lane_->await(*this, writing_ ? Awaited::write : Awaited::body);
  if (phase_ == Phase::sending && !writing_) return sent();
  progress();
}

// The listener leaves. What has come is answered; the peer sees that the answer has no end.
void Connection::break_stream_off() {
  if (!stream_->head_sent) return abort_stream(503, "the server is stopping");
  keep_ = false;
  peer_closes_ = false;
  phase_ = Phase::sending;
  stream_.reset();
  lane_->await(*this, Awaited::write);
  if (!writing_) return sent();
  progress();
}

void Connection::abort_stream(unsigned status, std::string_view detail) {
  if (stream_->head_sent || stream_->feeding) return close();
  stream_.reset();
  fail(status, detail);
}

// ---- answers that are made while they are sent --------------------------------------------------

// The head is sent already, or on its way.
void Connection::begin_push(std::unique_ptr<PushStream> source) {
  push_ = std::make_unique<Push>(Push{.source = std::move(source)});
  phase_ = Phase::pushing;
  if (!writing_) return push_sent();
  lane_->await(*this, Awaited::write);
  progress();
}

// Everything so far has been written.
void Connection::push_sent() {
  if (push_->source->endless && lane_->site().draining) return piece_made({}, true);
  lane_->await(*this, Awaited::write);  // the peer may have no room for another piece
  ask_soon();
  progress();
}

void Connection::ask_for_piece() {
  if (phase_ != Phase::pushing || push_->asked || writing_) return;
  push_->asked = true;
  lane_->await(*this, Awaited::nothing);
  lane_->dispatch([&] {
    try {
      push_->source->more(Ticket(shared_from_this()));
    } catch (...) {
      lane_->site().log(LogLevel::error, "making a body threw: " + thrown());
    }
  });
}

void Connection::piece_made(std::string piece, bool last) {
  push_->asked = false;
  std::string& out = lane_->scratch();
  out.clear();
  const bool chunked = parser_.http11();
  if (chunked && !piece.empty()) {
    fmt::format_to(std::back_inserter(out), "{:x}\r\n", piece.size());
    piece.append("\r\n");
  }
  if (chunked && last) piece.append("0\r\n\r\n");
  if (last) {
    phase_ = Phase::sending;
    push_.reset();
  }
  if (piece.size() <= copied_body) {
    out.append(piece);
    transmit(out);
  } else {
    transmit(out, std::move(piece));
  }
  if (phase_ == Phase::closed) return;
  if (!writing_) return sent();
  lane_->await(*this, Awaited::write);
  progress();
}

// ---- answers ------------------------------------------------------------------------------------

void Connection::fail(unsigned status, std::string_view detail) {
  keep_ = false;
  take_body();
  peer_closes_ = false;
  HttpResponse response{.status = status, .content_type = "text/plain"};
  try {
    response = lane_->site().handler.problem(status, detail);
  } catch (...) {
    response.body = detail;
  }
  respond(std::move(response));
}

// The peer is told to ask again, instead of an answer that might wait for long in memory.
void Connection::give_up_answer(HttpResponse response) {
  lane_->dispatch([&] {
    try {
      undeliver(std::move(response));
    } catch (...) {
      lane_->site().log(LogLevel::error, "giving an answer up threw: " + thrown());
    }
  });
  if (phase_ == Phase::closed) return;
  respond(lane_->site().handler.problem(
      503, "too many large answers wait for clients that read slowly; try again later"));
}

void Connection::respond(HttpResponse response) {
  const auto worth = response.undelivered ? Lane::Worth::costs_if_lost : Lane::Worth::can_be_asked;
  if (response.body.size() > small_answer && !bodiless_ &&
      !lane_->make_room(response.body.size(), worth)) {
    return give_up_answer(std::move(response));
  }
  undelivered_ = std::move(response.undelivered);
  if (asks_to_close(response.headers) || lane_->site().draining) keep_ = false;
  const bool pushed = response.push != nullptr;
  if (pushed && !parser_.http11()) keep_ = false;  // closing ends the answer
  std::string& out = lane_->scratch();
  out.clear();
  append_head(out, {.status = response.status,
                    .content_type = response.content_type,
                    .headers = &response.headers,
                    .date = lane_->date(),
                    .http11 = parser_.http11(),
                    .keep_alive = keep_,
                    .content_length = pushed ? std::nullopt : std::optional(response.body.size())});
  phase_ = Phase::sending;
  const bool bodiless = bodiless_ || is_bodiless(response.status);
  if (bodiless || pushed) response.body.clear();
  if (response.body.size() <= copied_body) {
    out.append(response.body);
    transmit(out);
  } else {
    transmit(out, std::move(response.body));
  }
  if (phase_ == Phase::closed) return;
  if (pushed && !bodiless) return begin_push(std::move(response.push));
  if (!writing_) return sent();
  lane_->await(*this, Awaited::write);
  progress();
}

void Connection::sent() {
  if (phase_ == Phase::pushing) return push_sent();
  if (phase_ == Phase::streaming) {
    lane_->await(*this, stream_->feeding ? Awaited::nothing : Awaited::body);
    return progress();
  }
  if (phase_ != Phase::sending) return;
  undelivered_ = {};
  // The head of a stream may have been sent before draining began.
  if (!keep_ || lane_->site().draining) return leave();
  parser_.reset();
  bodiless_ = false;
  phase_ = Phase::idle;
  if (ended_ && inbox_.empty()) return close();
  lane_->await(*this, Awaited::idle);
  progress();
}

}  // namespace millrace::api
