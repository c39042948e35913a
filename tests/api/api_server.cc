#include "tests/api/api_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <boost/json/parse.hpp>

namespace millrace::test {

std::string text_of(const Request& request) {
  const bool body = !request.body.empty() || request.method == "POST";
  return fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}{}{}\r\n{}", request.method, request.target,
                     request.host, request.headers,
                     body ? fmt::format("Content-Length: {}\r\n", request.body.size()) : "",
                     body && !request.content_type.empty()
                         ? fmt::format("Content-Type: {}\r\n", request.content_type)
                         : "",
                     request.body);
}

std::string member(const std::string& json, std::string_view name) {
  const auto value = boost::json::parse(json);
  return std::string(value.as_object().at(name).as_string());
}

NamedKey confined_key(std::string name, std::vector<std::string> queues) {
  using enum access::Scope;
  return {.name = std::move(name), .scopes = {put, work, read}, .queues = std::move(queues)};
}

std::string key_id(std::string_view name) {
  std::string id;
  for (std::size_t i = 0; i < 8; ++i) id += fmt::format("{:02x}", i < name.size() ? name[i] : 0);
  return id;
}

std::string key_text(std::string_view name) {
  return fmt::format("mr_{}_{:x<43}", key_id(name), name);
}

std::string by_key(std::string_view name) {
  return by_key_text(key_text(name));
}

std::string by_key_text(std::string_view text) {
  return fmt::format("Authorization: Bearer {}\r\n", text);
}

ApiServer::ApiServer(ServerOptions options)
    : driver({.rules = {.history = options.history}, .alerter = options.alerter},
             std::move(options.store)),
      api(api_options(options)) {
  for (const NamedKey& key : options.keys) {
    const access::KeyRequest about{.name = key.name,
                                   .scopes = access::Scopes(key.scopes),
                                   .queues = key.queues,
                                   .rate = key.rate};
    EXPECT_TRUE(access::validate(about, t0)) << "there can be no key like " << key.name;
    book.add({.id = key_id(key.name),
              .about = about,
              .created_at = t0,
              .hash = access::hash_of(key_text(key.name))});
  }
  if (!options.key.empty()) key_ = by_key(options.key);
  if (options.started) api.start(*driver.broker);
  auto started = api::Listener::start({.port = 0}, api, driver.clock);
  EXPECT_TRUE(started.has_value());
  if (!started) return;
  listener_ = std::move(*started);
  port_ = listener_->port();
}

api::ApiOptions ApiServer::api_options(ServerOptions& options) {
  api::ApiOptions all = std::move(options.api);
  all.keys = &keys;
  all.sessions = options.sessions ? &sessions : nullptr;
  all.actions = options.actions ? &actions : nullptr;
  all.traffic = [this] { return listener_->counts(); };
  all.clock = &driver.clock;
  all.streams.keep_time = false;
  return all;
}

ApiServer::~ApiServer() {
  driver.broker->stop();
  if (listener_) listener_->stop();
}

Reply ApiClient::ask(const Request& request) {
  RawClient client = connect();
  Request sent = request;
  sent.headers = with_key(std::move(sent.headers));
  client.send(text_of(sent));
  return client.reply(request.method == "HEAD");
}

std::string ApiClient::with_key(std::string headers) const {
  if (!headers.contains("Authorization:")) headers += key_;
  return headers;
}

Reply ApiClient::post(const std::string& target, const std::string& body) {
  return ask({.method = "POST", .target = target, .body = body});
}

std::string ApiClient::must_post(const std::string& target, const std::string& body) {
  const Reply reply = post(target, body);
  EXPECT_LT(reply.status, 300U) << target << " " << body << "\n" << reply.body;
  return reply.body;
}

std::string ApiClient::put(const std::string& more) {
  return member(
      must_post("/v1/tasks", fmt::format(R"({{"queue":"emails","payload":{{"n":1.0}}{}}})", more)),
      "id");
}

std::pair<std::string, std::string> ApiClient::taken() {
  put();
  const std::string reply = must_post("/v1/take", R"({"worker":"w1","queue":"emails"})");
  const auto value = boost::json::parse(reply);
  const auto& lease = value.at("tasks").at(0).as_object();
  return {std::string(lease.at("id").as_string()), std::string(lease.at("token").as_string())};
}

std::string ApiClient::settled(const std::string& outcome) {
  const auto [id, token] = taken();
  must_post(fmt::format("/v1/tasks/{}/settle", id),
            fmt::format(R"({{"token":"{}",{}}})", token, outcome));
  return id;
}

}  // namespace millrace::test
