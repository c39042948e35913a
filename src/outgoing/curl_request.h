// One request on one libcurl handle. Both are reused for later requests.
#pragma once

#include <curl/curl.h>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "outgoing/http_client.h"

namespace millrace::outgoing {

class CurlRequest {
 public:
  // The options must outlive it.
  explicit CurlRequest(const HttpClientOptions& options);
  CurlRequest(const CurlRequest&) = delete;
  CurlRequest& operator=(const CurlRequest&) = delete;
  ~CurlRequest();

  CURL* handle() const { return curl_; }
  std::uint64_t number() const { return number_; }
  // Of the request under way.
  const HttpRequest& request() const { return request_; }
  std::chrono::nanoseconds deadline = {};  // set by the client

  // Sets the handle up. An error means that the request cannot be sent at all.
  Result<void> begin(std::uint64_t number, HttpRequest request, HttpClient::Done done);
  // From now on, stopping the request calls `cancel` with its number, on any thread.
  void watch(std::function<void(std::uint64_t)> cancel);
  // libcurl has finished: answers the caller. begin() may be called again afterwards.
  void end(CURLcode code);
  void end(Result<HttpReply> result);

 private:
  Result<HttpReply> reply(CURLcode code);
  void set_options();
  void set_body();
  void set_headers();
  void add_line(const std::string& name, const std::string& value);

  std::size_t give_body(std::span<char> room);
  bool is_good() const;  // whether the answer so far is a 2xx
  std::size_t take_body(const char* bytes, std::size_t size);
  std::size_t take_header(std::string_view line);
  curl_socket_t open_socket(curl_sockaddr* address);

  const HttpClientOptions& options_;
  CURL* curl_ = nullptr;
  std::uint64_t number_ = 0;
  HttpRequest request_;
  HttpClient::Done done_;
  std::optional<std::stop_callback<std::function<void()>>> stop_;

  // What the handle points to while the request runs.
  std::vector<std::string> lines_;
  std::vector<curl_slist> nodes_;
  std::array<char, CURL_ERROR_SIZE> words_{};

  HttpReply reply_;
  std::size_t header_bytes_ = 0;
  bool too_large_ = false;
  bool opened_ = false;           // the guard allowed an address
  std::string not_allowed_ = {};  // an address that it did not allow
  std::optional<Error> no_more_;  // why the body could not be sent, or is no longer received
};

// A request without an answer, as libcurl describes it.
struct Failure {
  CURL* curl = nullptr;
  CURLcode code = CURLE_OK;
  const char* words = "";  // libcurl's message
  const HttpRequest& request;
  std::string_view unknown_authority = {};  // as in HttpClientOptions
};
Error error_of(const Failure& failure);

// host:port of a URL, for messages: without names and passwords.
std::string place_of(const std::string& url);

}  // namespace millrace::outgoing
