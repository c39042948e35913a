#include "outgoing/curl_request.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "core/ascii.h"
#include "core/quote.h"

namespace millrace::outgoing {
namespace {

constexpr std::size_t most_header_bytes = std::size_t{256} << 10U;
constexpr std::size_t most_reserved = std::size_t{4} << 20U;
constexpr long upload_room = 256L << 10U;

long milliseconds(Duration time) {
  // Zero would mean no limit.
  const auto most = static_cast<Duration::rep>(std::numeric_limits<int>::max());
  return static_cast<long>(std::clamp<Duration::rep>(time.count(), 1, most));
}

// No text that is sent unchanged may end a line: it could begin another header or request.
Result<void> check(const HttpRequest& request) {
  if (!ascii::is_http_token(request.method)) {
    return fail(ErrorCode::invalid,
                fmt::format("{} is not an HTTP method", in_quotes(request.method)));
  }
  for (const auto& [name, value] : request.headers) {
    if (!ascii::is_http_token(name)) {
      return fail(ErrorCode::invalid, fmt::format("{} is not a header name", in_quotes(name)));
    }
    // The message does not show the value, which may be a secret.
    const auto is_control = [](char c) {
      return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
    };
    if (std::ranges::any_of(value, is_control)) {
      return fail(ErrorCode::invalid,
                  fmt::format("the value of the header {} has a control character", name));
    }
  }
  return {};
}

std::optional<std::array<std::uint8_t, 16>> bytes_of(const curl_sockaddr& address) {
  std::array<std::uint8_t, 16> bytes{};
  if (address.family == AF_INET && address.addrlen >= sizeof(sockaddr_in)) {
    bytes[10] = bytes[11] = 0xff;
    const auto& in = reinterpret_cast<const sockaddr_in&>(address.addr);
    std::memcpy(bytes.data() + 12, &in.sin_addr, 4);
    return bytes;
  }
  if (address.family == AF_INET6 && address.addrlen >= sizeof(sockaddr_in6)) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address.addr);
    std::memcpy(bytes.data(), &in.sin6_addr, 16);
    return bytes;
  }
  return std::nullopt;
}

}  // namespace

CurlRequest::CurlRequest(const HttpClientOptions& options)
    : options_(options), curl_(curl_easy_init()) {
  if (curl_ != nullptr) set_options();
}

CurlRequest::~CurlRequest() {
  if (curl_ != nullptr) curl_easy_cleanup(curl_);
}

// Options that are the same for all requests.
void CurlRequest::set_options() {
  const auto set = [this](CURLoption option, auto value) {
    curl_easy_setopt(curl_, option, value);
  };
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_ERRORBUFFER, words_.data());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PATH_AS_IS, 1L);  // a name may be called ..
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");  // an address behind a proxy could not be guarded
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  // Without this, a resolver that hangs would block the thread of all requests at the end.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  set(CURLOPT_USERAGENT, options_.user_agent.c_str());
  if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());

  using Write = std::size_t (*)(char*, std::size_t, std::size_t, void*);
  const Write body = [](char* bytes, std::size_t, std::size_t size, void* self) {
    return static_cast<CurlRequest*>(self)->take_body(bytes, size);
  };
  const Write header = [](char* bytes, std::size_t, std::size_t size, void* self) {
    return static_cast<CurlRequest*>(self)->take_header({bytes, size});
  };
  using Open = curl_socket_t (*)(void*, curlsocktype, curl_sockaddr*);
  const Open open = [](void* self, curlsocktype, curl_sockaddr* address) {
    return static_cast<CurlRequest*>(self)->open_socket(address);
  };
  const Write upload = [](char* room, std::size_t, std::size_t size, void* self) {
    return static_cast<CurlRequest*>(self)->give_body({room, size});
  };
  set(CURLOPT_READFUNCTION, upload);
  set(CURLOPT_READDATA, this);
  set(CURLOPT_UPLOAD_BUFFERSIZE, upload_room);
  set(CURLOPT_WRITEFUNCTION, body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_HEADERFUNCTION, header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_OPENSOCKETFUNCTION, open);
  set(CURLOPT_OPENSOCKETDATA, this);
}

Result<void> CurlRequest::begin(std::uint64_t number, HttpRequest request, HttpClient::Done done) {
  number_ = number;
  request_ = std::move(request);
  done_ = std::move(done);
  reply_ = {};
  header_bytes_ = 0;
  too_large_ = opened_ = false;
  not_allowed_.clear();
  no_more_.reset();
  words_[0] = '\0';
  if (curl_ == nullptr)
    return fail(ErrorCode::unavailable, "libcurl has no memory for another request");
  if (auto ok = check(request_); !ok) return ok;
  if (request_.url.contains('\0')) {
    return fail(ErrorCode::invalid,
                fmt::format("the URL {} has a zero byte", in_quotes(request_.url)));
  }
  curl_easy_setopt(curl_, CURLOPT_URL, request_.url.c_str());
  curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, milliseconds(request_.timeout));
  curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request_.connect_timeout));
  const auto stall = std::chrono::ceil<std::chrono::seconds>(request_.stall_timeout).count();
  curl_easy_setopt(curl_, CURLOPT_LOW_SPEED_LIMIT, stall == 0 ? 0L : 1L);
  curl_easy_setopt(curl_, CURLOPT_LOW_SPEED_TIME, static_cast<long>(stall));
  set_body();
  set_headers();
  return {};
}

void CurlRequest::set_body() {
  const std::string& method = request_.method;
  const bool has_body = !request_.body.empty() || request_.more || method == "POST" ||
                        method == "PUT" ||
                        method == "PATCH";  // these always send a length, even of an empty body
  curl_easy_setopt(curl_, CURLOPT_HTTPGET, 1L);  // resets what the last request set
  if (has_body) {
    curl_easy_setopt(curl_, CURLOPT_POST, 1L);
    // Without fields and their length the body is asked for.
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, request_.more ? nullptr : request_.body.data());
    curl_easy_setopt(
        curl_, CURLOPT_POSTFIELDSIZE_LARGE,
        request_.more ? curl_off_t{-1} : static_cast<curl_off_t>(request_.body.size()));
  } else if (method == "HEAD") {
    curl_easy_setopt(curl_, CURLOPT_NOBODY, 1L);
  }
  const bool plain = method == (has_body ? "POST" : method == "HEAD" ? "HEAD" : "GET");
  curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, plain ? nullptr : method.c_str());
}

void CurlRequest::set_headers() {
  lines_.clear();
  bool has_type = false;
  for (const auto& [name, value] : request_.headers) {
    has_type = has_type || ascii::equal_ignoring_case(name, "content-type");
    add_line(name, value);
  }
  // Removes what libcurl would add: a type that the body does not have, and an `Expect:
  // 100-continue`, which costs a round trip.
  if (!has_type) lines_.emplace_back("Content-Type:");
  lines_.emplace_back("Expect:");
  if (request_.more) lines_.emplace_back("Transfer-Encoding: chunked");
  nodes_.resize(lines_.size());
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    nodes_[i] = {.data = lines_[i].data(),
                 .next = i + 1 < lines_.size() ? &nodes_[i + 1] : nullptr};
  }
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, nodes_.data());
}

void CurlRequest::add_line(const std::string& name, const std::string& value) {
  std::string& line = lines_.emplace_back(name);
  // libcurl leaves a header out if its name has a colon and nothing after it.
  if (value.find_first_not_of(" \t") == std::string::npos) {
    line += ';';
  } else {
    line.append(": ").append(value);
  }
}

void CurlRequest::watch(std::function<void(std::uint64_t)> cancel) {
  if (!request_.stop.stop_possible()) return;
  stop_.emplace(request_.stop, [cancel = std::move(cancel), number = number_] { cancel(number); });
}

// ---- Callbacks of libcurl ----

std::size_t CurlRequest::give_body(std::span<char> room) {
  if (!request_.more) return 0;
  auto given = request_.more(room);
  if (given) return *given;
  no_more_ = std::move(given.error());
  return CURL_READFUNC_ABORT;
}

bool CurlRequest::is_good() const {
  long status = 0;
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  return status >= 200 && status < 300;
}

std::size_t CurlRequest::take_body(const char* bytes, std::size_t size) {
  if (request_.on_piece && is_good()) {
    auto taken = request_.on_piece({bytes, size});
    if (taken) return size;
    no_more_ = std::move(taken.error());
    return 0;
  }
  std::string& body = reply_.body;
  if (body.empty()) {
    curl_off_t length = 0;
    curl_easy_getinfo(curl_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length > 0) {
      body.reserve(std::min({static_cast<std::size_t>(length), request_.most, most_reserved}));
    }
  }
  const std::size_t room = request_.most - body.size();
  if (size <= room) {
    body.append(bytes, size);
    return size;
  }
  // Returning less than what came ends the transfer.
  if (request_.clip) {
    body.append(bytes, room);
    reply_.clipped = true;
  } else {
    too_large_ = true;
  }
  return 0;
}

std::size_t CurlRequest::take_header(std::string_view line) {
  const std::size_t size = line.size();
  header_bytes_ += size;
  if (header_bytes_ > most_header_bytes) {
    too_large_ = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) {
    reply_.headers.clear();  // of an interim answer
    return size;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name = ascii::lower(line.substr(0, colon));
  std::string_view value = line.substr(colon + 1);
  const std::size_t first = value.find_first_not_of(" \t\r\n");
  value = first == std::string_view::npos
              ? std::string_view{}
              : value.substr(first, value.find_last_not_of(" \t\r\n") - first + 1);
  reply_.headers.emplace_back(std::move(name), value);
  return size;
}

// Called with the address that is about to be connected to, not with the name.
curl_socket_t CurlRequest::open_socket(curl_sockaddr* address) {
  const auto bytes = bytes_of(*address);
  if (!bytes || !options_.guard.allows(*bytes)) {
    not_allowed_ = bytes ? to_text(*bytes) : "an address that is not an IP address";
    return CURL_SOCKET_BAD;
  }
  opened_ = true;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// ---- The end ----

void CurlRequest::end(CURLcode code) {
  end(reply(code));
}

void CurlRequest::end(Result<HttpReply> result) {
  stop_.reset();
  HttpClient::Done done = std::move(done_);
  request_ = {};
  reply_ = {};
  done(std::move(result));
}

Result<HttpReply> CurlRequest::reply(CURLcode code) {
  if (no_more_) return std::unexpected(std::move(*no_more_));
  if (too_large_) {
    return fail(ErrorCode::too_large,
                reply_.body.empty() && header_bytes_ > most_header_bytes
                    ? fmt::format("{} answered with more than {} bytes of headers",
                                  place_of(request_.url), most_header_bytes)
                    : fmt::format("{} answered with more than {} bytes", place_of(request_.url),
                                  request_.most));
  }
  if (code != CURLE_OK && !not_allowed_.empty() && !opened_) {
    return fail(
        ErrorCode::invalid,
        fmt::format(
            "{} may not be called: {} is a private address and is not in the allowed ranges",
            place_of(request_.url), not_allowed_));
  }
  if (code != CURLE_OK && !reply_.clipped) {
    return std::unexpected(error_of({.curl = curl_,
                                     .code = code,
                                     .words = words_.data(),
                                     .request = request_,
                                     .unknown_authority = options_.unknown_authority}));
  }
  long status = 0;
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  reply_.status = static_cast<int>(status);
  return std::move(reply_);
}

}  // namespace millrace::outgoing
