// One request on one handle of libcurl, both used again for later ones.
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

class Transfer {
 public:
  // The options must outlive it.
  explicit Transfer(const HttpClientOptions& options);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer();

  CURL* handle() const { return curl_; }
  std::uint64_t number() const { return number_; }
  // Of the request under way.
  const HttpRequest& request() const { return request_; }
  std::chrono::nanoseconds deadline = {};  // the client's own

  // Sets the handle up. An error means that it cannot be sent at all.
  Result<void> begin(std::uint64_t number, HttpRequest request, HttpClient::Done done);
  // From now on a stop of the request calls `cancel` with its number, on any thread.
  void watch(std::function<void(std::uint64_t)> cancel);
  // Libcurl is done with it: answers. May be begun again then.
  void end(CURLcode code);
  void end(Result<HttpReply> result);

 private:
  Result<HttpReply> reply(CURLcode code);
  void set_options();
  void set_body();
  void set_headers();
  void add_line(const std::string& name, const std::string& value);

  std::size_t give_body(std::span<char> room);
  bool is_good() const;  // the answer, as far as it has come
  std::size_t take_body(const char* bytes, std::size_t size);
  std::size_t take_header(std::string_view line);
  curl_socket_t open_socket(curl_sockaddr* address);

  const HttpClientOptions& options_;
  CURL* curl_ = nullptr;
  std::uint64_t number_ = 0;
  HttpRequest request_;
  HttpClient::Done done_;
  std::optional<std::stop_callback<std::function<void()>>> stop_;

  // What the handle points to while it runs.
  std::vector<std::string> lines_;
  std::vector<curl_slist> nodes_;
  std::array<char, CURL_ERROR_SIZE> words_{};

  HttpReply reply_;
  std::size_t header_bytes_ = 0;
  bool too_large_ = false;
  bool opened_ = false;           // an address was allowed
  std::string not_allowed_ = {};  // one that was not
  std::optional<Error> no_more_;  // why a body could not be given, or is not taken
};

// What libcurl says of a request that got no answer, in our words.
struct Failure {
  CURL* curl = nullptr;
  CURLcode code = CURLE_OK;
  const char* words = "";  // libcurl's
  const HttpRequest& request;
};
Error error_of(const Failure& failure);

// host:port of a URL, for messages: without names and passwords.
std::string place_of(const std::string& url);

}  // namespace millrace::outgoing
