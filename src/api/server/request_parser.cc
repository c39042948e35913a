#include "api/server/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>
#include <limits>

namespace millrace::api {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using beast::error_code;
using beast::string_view;

constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();

Method method_of(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::get;
    case http::verb::head:
      return Method::head;
    case http::verb::post:
      return Method::post;
    case http::verb::put:
      return Method::put;
    case http::verb::patch:
      return Method::patch;
    case http::verb::delete_:
      return Method::remove;
    case http::verb::options:
      return Method::options;
    default:
      return Method::other;
  }
}

struct Failure {
  unsigned status = 0;
  std::string detail = {};
};

// Takes the grammar from Beast and keeps only the headers that mean something to us, so that a
// request costs no table of headers.
class Grammar final : public http::basic_parser<true> {
 public:
  explicit Grammar(std::size_t header_limit) {
    this->header_limit(static_cast<std::uint32_t>(header_limit));
    this->body_limit(boost::none);  // known only when the head has been looked at
  }

  HttpRequest request;
  std::string* into = nullptr;
  std::uint64_t most = unbounded;  // body bytes that may come
  std::uint64_t left = unbounded;  // and how many of them may still
  bool expects_continue = false;
  bool http11 = true;
  Failure failure;

 private:
  void fail(unsigned status, std::string detail, error_code& ec) {
    failure = {status, std::move(detail)};
    ec = http::error::bad_value;
  }
  void fail_too_large(error_code& ec) {
    fail(413, fmt::format("the body may have {} bytes at most here", most), ec);
  }

  void on_request_impl(http::verb verb, string_view name, string_view target, int version,
                       error_code& ec) override {
    request.method = method_of(verb);
    if (request.method == Method::other) request.method_name.assign(name.data(), name.size());
    request.target.assign(target.data(), target.size());
    http11 = version >= 11;
    take_authority(ec);
  }

  // http://host/path, as clients ask a proxy: its host counts instead of the Host header (RFC 9112,
  // 3.2.2).
  void take_authority(error_code& ec) {
    const std::string_view target = request.target;
    const std::size_t scheme = target.find("://");
    if (target.starts_with('/') || scheme == target.npos) return;
    const string_view name(target.data(), scheme);
    const std::size_t begin = scheme + 3;
    const std::size_t end = std::min(target.find_first_of("/?", begin), target.size());
    authority_ = target.substr(begin, end - begin);
    if ((!beast::iequals(name, "http") && !beast::iequals(name, "https")) || authority_.empty() ||
        authority_.find('@') != authority_.npos) {
      return fail(400, "the target of a request is a path, or http://host/path", ec);
    }
    request.target.erase(0, end);
    if (!request.target.starts_with('/')) request.target.insert(0, "/");
  }
  void on_response_impl(int, string_view, int, error_code&) override {}

  void on_field_impl(http::field field, string_view name, string_view value,
                     error_code& ec) override {
    if (in_trailer_) return;  // trailers are ignored
    const auto keep = [&value](std::string& to) { to.assign(value.data(), value.size()); };
    switch (field) {
      case http::field::host:
        if (++hosts_ > 1) fail(400, "the request has more than one Host header", ec);
        return keep(request.host);
      case http::field::origin:
        return keep(request.origin);
      case http::field::content_type:
        return keep(request.content_type);
      case http::field::content_encoding:
        // Several are one list (RFC 9110, 5.2).
        if (!request.content_encoding.empty()) request.content_encoding += ", ";
        request.content_encoding.append(value.data(), value.size());
        return;
      case http::field::accept:
        return keep(request.accept);
      case http::field::accept_encoding:
        return keep(request.accept_encoding);
      case http::field::if_none_match:
        return keep(request.if_none_match);
      case http::field::cookie:
        return keep(request.cookie);
      case http::field::authorization:
        if (!request.authorization.empty()) {
          return fail(400, "the request has more than one Authorization header", ec);
        }
        return keep(request.authorization);
      case http::field::transfer_encoding:
        if (!beast::iequals(value, "chunked")) {
          fail(501, "the only Transfer-Encoding that is understood is chunked", ec);
        } else if (!http11) {
          fail(400, "HTTP/1.0 has no Transfer-Encoding; send a Content-Length", ec);
        }
        break;
      case http::field::expect:
        if (!beast::iequals(value, "100-continue")) {
          return fail(417, "the only Expect that is understood is 100-continue", ec);
        }
        expects_continue = http11;
        break;
      default:
        if (beast::iequals(name, "Idempotency-Key")) return keep(request.idempotency_key);
        if (beast::iequals(name, "X-Request-Id")) return keep(request.request_id);
        if (beast::iequals(name, "Last-Event-ID")) return keep(request.last_event_id);
        if (beast::iequals(name, "X-Requested-By")) return keep(request.requested_by);
        if (beast::iequals(name, "X-Forwarded-Proto")) return keep(request.forwarded_proto);
        if (beast::iequals(name, "X-Forwarded-Prefix")) return keep(request.forwarded_prefix);
    }
  }

  void on_header_impl(error_code& ec) override {
    in_trailer_ = true;
    if (http11 && hosts_ == 0) fail(400, "a request of HTTP/1.1 needs a Host header", ec);
    if (!authority_.empty()) request.host = authority_;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}

  std::size_t take(string_view body, error_code& ec) {
    if (body.size() > left) {
      fail_too_large(ec);
      return 0;
    }
    left -= body.size();
    if (into != nullptr) into->append(body.data(), body.size());
    return body.size();
  }
  std::size_t on_body_impl(string_view body, error_code& ec) override { return take(body, ec); }
  void on_chunk_header_impl(std::uint64_t size, string_view, error_code& ec) override {
    if (size > left) fail_too_large(ec);
  }
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& ec) override {
    return take(body, ec);
  }
  void on_finish_impl(error_code&) override {}

  unsigned hosts_ = 0;
  std::string authority_;  // of the target
  bool in_trailer_ = false;
};

}  // namespace

struct RequestParser::State {
  explicit State(std::size_t limit) : header_limit(limit) { grammar.emplace(limit); }

  std::size_t header_limit;
  std::size_t head_bytes = 0;  // Beast limits what it sees at once; this counts all of the head
  bool head_told = false;
  std::optional<Grammar> grammar;
};

RequestParser::RequestParser(std::size_t header_limit)
    : state_(std::make_unique<State>(header_limit)) {}
RequestParser::~RequestParser() = default;

void RequestParser::reset() {
  state_->grammar.emplace(state_->header_limit);
  state_->head_bytes = 0;
  state_->head_told = false;
}

RequestParser::Fed RequestParser::feed(std::string_view bytes) {
  State& state = *state_;
  Grammar& grammar = *state.grammar;
  Fed fed;
  // Empty lines before a request are forgiven (RFC 9112, 2.2), but they count as head.
  while (!grammar.got_some() && fed.taken < bytes.size() &&
         (bytes[fed.taken] == '\r' || bytes[fed.taken] == '\n')) {
    ++fed.taken;
  }
  const bool in_head = !grammar.is_header_done();
  grammar.eager(!in_head);
  error_code ec;
  bytes.remove_prefix(fed.taken);
  if (!grammar.is_done() && !bytes.empty()) {
    fed.taken += grammar.put(boost::asio::const_buffer(bytes.data(), bytes.size()), ec);
  } else if (!grammar.is_done()) {
    ec = http::error::need_more;
  }
  if (in_head) {
    state.head_bytes += fed.taken;
    if (state.head_bytes > state.header_limit) ec = http::error::header_limit;
  }
  if (ec == http::error::need_more) ec = {};
  if (ec) {
    if (grammar.failure.status == 0) {
      grammar.failure =
          ec == http::error::header_limit
              ? Failure{431, fmt::format("the head of a request may have {} bytes at most",
                                         state.header_limit)}
              : Failure{400, fmt::format("this is not HTTP/1.1 as it should be: {}", ec.message())};
    }
    fed.step = Step::failed;
  } else if (grammar.is_header_done() && !state.head_told) {
    state.head_told = true;
    fed.step = Step::head;
  } else if (grammar.is_done()) {
    fed.step = Step::done;
  }
  return fed;
}

void RequestParser::collect(std::string* into, std::uint64_t most) {
  state_->grammar->into = into;
  state_->grammar->most = most;
  state_->grammar->left = most;
}

HttpRequest& RequestParser::request() {
  return state_->grammar->request;
}
bool RequestParser::http11() const {
  return state_->grammar->http11;
}
bool RequestParser::keep_alive() const {
  return state_->grammar->keep_alive();
}
bool RequestParser::expects_continue() const {
  return state_->grammar->expects_continue;
}
bool RequestParser::done() const {
  return state_->grammar->is_done();
}

std::optional<std::uint64_t> RequestParser::remaining() const {
  if (state_->grammar->is_done()) return 0;
  const auto length = state_->grammar->content_length_remaining();
  return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
}

std::optional<std::uint64_t> RequestParser::content_length() const {
  if (state_->grammar->chunked()) return std::nullopt;
  return state_->grammar->content_length().value_or(0);
}

bool RequestParser::begun() const {
  return state_->grammar->got_some() || state_->head_bytes > 0;
}
bool RequestParser::has_head() const {
  return state_->grammar->is_header_done();
}
unsigned RequestParser::status() const {
  return state_->grammar->failure.status;
}
std::string_view RequestParser::detail() const {
  return state_->grammar->failure.detail;
}

}  // namespace millrace::api
