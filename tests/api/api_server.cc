#include "tests/api/api_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <boost/json/parse.hpp>

#include "app/api_parts.h"

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

ApiServer::ApiServer(ServerOptions options)
    : driver({.rules = {.history = options.history}}, std::move(options.store)),
      api(with_parts(std::move(options.api))) {
  if (options.started) api.start(*driver.broker);
  auto started = api::Listener::start({.port = 0}, api.handler(), driver.clock);
  EXPECT_TRUE(started.has_value());
  if (!started) return;
  listener_ = std::move(*started);
  port_ = listener_->port();
}

api::ApiOptions ApiServer::with_parts(api::ApiOptions options) {
  options.archive = archive_of([this]() -> LocalBroker& { return *driver.broker; });
  options.clock = &driver.clock;
  options.streams.keep_time = false;
  api::Eyes eyes = eyes_of([this]() -> LocalBroker& { return *driver.broker; });
  if (options.eyes.observe) eyes.observe = std::move(options.eyes.observe);
  if (options.eyes.standing) eyes.standing = std::move(options.eyes.standing);
  options.eyes = std::move(eyes);
  return options;
}

ApiServer::~ApiServer() {
  driver.broker->stop();
  if (listener_) listener_->stop();
}

Reply ApiClient::ask(const Request& request) {
  RawClient client = connect();
  client.send(text_of(request));
  return client.reply(request.method == "HEAD");
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
