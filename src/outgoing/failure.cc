// Says why there is no answer: who was called, where, and what happened.
#include <curl/curl.h>
#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "core/ascii.h"
#include "core/quote.h"
#include "outgoing/curl_request.h"

namespace millrace::outgoing {
namespace {

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  std::string result = text;
  curl_free(text);
  return result;
}

// "connection refused", not "Connection refused": it stands inside a sentence.
std::string system_words(long number) {
  std::string words = std::strerror(static_cast<int>(number));
  if (!words.empty()) words[0] = ascii::lower(words[0]);
  return words;
}

// A URL may hold a password; then it is not shown.
std::string shown(const std::string& url) {
  return url.contains('@') ? "the URL (not shown, it has an @)" : in_quotes(url);
}

bool connected(CURL* curl) {
  curl_off_t time = 0;
  curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &time);
  return time > 0;
}

std::string timed_out(const Failure& of, const std::string& place) {
  if (!connected(of.curl)) {
    return fmt::format("could not connect to {}: it took longer than {} ms", place,
                       std::min(of.request.timeout, of.request.connect_timeout).count());
  }
  long status = 0;
  curl_easy_getinfo(of.curl, CURLINFO_RESPONSE_CODE, &status);
  return fmt::format("{} {} in {} ms", place,
                     status != 0 ? "did not finish its answer" : "did not answer",
                     of.request.timeout.count());
}

std::string not_connected(const Failure& of, const std::string& place) {
  long number = 0;
  curl_easy_getinfo(of.curl, CURLINFO_OS_ERRNO, &number);
  return fmt::format("could not connect to {}: {}", place,
                     number != 0 ? system_words(number) : curl_easy_strerror(of.code));
}

std::string words_of(const Failure& of) {
  return *of.words != '\0' ? of.words : curl_easy_strerror(of.code);
}

// A wrong name or date is another matter than an authority that is not known.
std::string untrusted(const Failure& of, const std::string& place) {
  const std::string words = words_of(of);
  const bool unknown = words.contains("self-signed") || words.contains("issuer certificate");
  return fmt::format("{} cannot be trusted: {}{}", place, words,
                     unknown ? of.unknown_authority : std::string_view());
}

}  // namespace

std::string place_of(const std::string& url) {
  const Url parsed(curl_url(), &curl_url_cleanup);
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return shown(url);
  }
  return fmt::format("{}:{}", part_of(parsed.get(), CURLUPART_HOST),
                     part_of(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

Error error_of(const Failure& of) {
  const std::string place = place_of(of.request.url);
  const auto unavailable = [](std::string message) {
    return Error{.code = ErrorCode::unavailable, .message = std::move(message)};
  };
  switch (of.code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      if (connected(of.curl)) break;  // an answer that is not HTTP ends like this, too
      return {.code = ErrorCode::invalid,
              .message = fmt::format("{} cannot be called; allowed are URLs such as "
                                     "https://example.org:8443/path",
                                     shown(of.request.url))};
    case CURLE_COULDNT_RESOLVE_HOST:
      return unavailable(
          fmt::format("could not connect to {}: its name cannot be resolved", place));
    case CURLE_COULDNT_CONNECT:
      return unavailable(not_connected(of, place));
    case CURLE_OPERATION_TIMEDOUT:
      return unavailable(timed_out(of, place));
    case CURLE_GOT_NOTHING:
      return unavailable(fmt::format("{} closed the connection without an answer", place));
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return unavailable(
          fmt::format("the connection to {} was lost before its answer was complete ({})", place,
                      words_of(of)));
    case CURLE_PEER_FAILED_VERIFICATION:
      return {.code = ErrorCode::unavailable, .message = untrusted(of, place), .untrusted = true};
    case CURLE_SSL_CACERT_BADFILE:
      return {.code = ErrorCode::invalid,
              .message =
                  fmt::format("the file of trusted certificates cannot be read: {}", words_of(of))};
    case CURLE_SSL_CONNECT_ERROR:
      return unavailable(fmt::format("no TLS with {}: {}", place, words_of(of)));
    default:
      break;
  }
  return unavailable(fmt::format("{} did not answer with HTTP: {}", place, words_of(of)));
}

}  // namespace millrace::outgoing
